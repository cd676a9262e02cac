// The pause of DCGM's profiling as a thing that is kept (keeper_life.h): for the whole node, by one process at a time,
// and no longer than was asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/clocks/keeper/keeper_life.h"
#include "daemon/clocks/keeper/note_store.h"
#include "daemon/clocks/pause/dcgm_door.h"
#include "daemon/clocks/pause/pause_hold.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/clock.h"

namespace kprof {

class KeptPause : public KeptThing {
 public:
  struct Options {
    std::string library;    // of DCGM; empty: the usual ones
    std::string tool_path;  // of folders where dcgmi may be, before PATH
    std::string folder;     // of note_store.h
    std::string boot_id;
  };
  KeptPause(Options options, Files& files, CallPage page);

  Status GiveBack() override;
  KeeperMessage Hold(const KeeperMessage& request) override;
  void CloseAfter(const Status& failed) override;
  std::optional<int64_t> until_mono_ns() const override { return until_mono_ns_; }

 private:
  Status TakeRight();
  Status Open();
  Status Resume();
  Result<std::optional<PauseHold>> ReadHold();
  Result<KeeperPaused> Pause(const KeeperPause& request);

  const RealClock clock_;
  const Options options_;
  NoteStore files_;
  CallPage page_;
  std::unique_ptr<File> right_;  // the lock of note_store.h
  std::unique_ptr<DcgmDoor> door_;
  std::optional<int64_t> until_mono_ns_;
};

}  // namespace kprof
