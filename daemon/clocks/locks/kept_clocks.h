// The clocks of one NVIDIA device as a thing that is kept (keeper_life.h): opens the device when there is something to
// do, and anew when it was lost; one process at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/clocks/keeper/keeper_life.h"
#include "daemon/clocks/locks/clock_keeper.h"
#include "daemon/clocks/locks/clock_notes.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/clock.h"

namespace kprof {

class KeptClocks : public KeptThing {
 public:
  struct Options {
    std::string library;  // of NVML; empty: the usual one
    std::string folder;   // of clock_notes.h
    std::string uuid;
    std::string boot_id;
    bool is_unwatched = false;  // nobody else ends this process when a call hangs
  };
  KeptClocks(Options options, Files& files, CallPage page);

  Status GiveBack() override;
  KeeperMessage Hold(const KeeperMessage& request) override;
  void CloseAfter(const Status& failed) override;

 private:
  Status TakeRight();
  Status Open();

  const RealClock clock_;
  const Options options_;
  ClockNotes files_;
  CallPage page_;
  std::unique_ptr<File> right_;  // the lock of clock_notes.h
  std::optional<NvmlLibrary> library_;
  std::optional<NvmlDevice> device_;
  std::optional<ClockSetter> keeper_;
};

}  // namespace kprof
