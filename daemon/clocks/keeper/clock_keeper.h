// The keeper of one NVIDIA device's clocks: ClockSetter sets them and gives them back as they were, KeptClocks is the
// thing that a KeeperLife keeps. Changes are noted on the disk before the first call, and the note goes after the last.
//
// One thread; blocks. Borrows all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/clocks/keeper/keeper_life.h"
#include "daemon/clocks/keeper/keeper_protocol.h"
#include "daemon/clocks/locks/clock_notes.h"
#include "daemon/devices/nvidia/nvml_device.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/clock.h"
#include "storage/base/status.h"

namespace kprof {

class ClockSetter {
 public:
  ClockSetter(const Clock& clock, ClockNotes& files, NvmlDevice& device, std::string boot_id)
      : clock_(clock), files_(files), device_(device), boot_id_(std::move(boot_id)) {}

  // Locks the clocks; an existing hold is changed into this one. Fails as NvmlStatus says, and with kUsage where
  // somebody else seems to hold the clocks; then nothing is held, or Release is still to be called.
  Result<KeeperLocked> Lock(const KeeperLock& request);

  // Fails where something could not be given back; its note stays, and it can be tried again.
  Result<KeeperReleased> Release();

 private:
  Status Note(const KeeperLock& request, KeeperLocked& locked);
  Status Change(const KeeperLock& request, KeeperLocked& locked);
  // Notes the outcome of an act: that it is set, or, where it was refused, that it is not (`forget`). A refusal is a
  // failure if `must_be`, else a sentence in `locked`.
  Status Take(const Status& set, bool& is_set, const std::function<void()>& forget, bool must_be, KeeperLocked& locked);
  void Undo(const Status& undone, bool is_known_to_be_set, std::vector<Status>& failures) const;
  void RestoreSettings(std::vector<Status>& failures);
  Status RestoreApplicationClocks(const NvidiaSettings& now);
  Result<KeeperReleased> ReleaseDamaged(const Status& why);

  const Clock& clock_;
  ClockNotes& files_;
  NvmlDevice& device_;
  const std::string boot_id_;
  ClockHold hold_;  // as the note has it
  int64_t released_mono_ns_ = 0;
};

// The clocks of one NVIDIA device as a thing that is kept (keeper_life.h). Opens the device when there is something to
// do, and anew after it was lost. One process at a time.
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
