// The pause of DCGM's profiling as a thing that is kept (keeper_life.h), and its note (note_store.h). The pause is for
// the whole node, by one process at a time, and no longer than was asked for.
//
// A note says that kprof has paused the profiler, and how it was before. It is on the disk from before the first call
// until after the last. docs/quiet_devices.md shows one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/clocks/keeper/keeper_life.h"
#include "daemon/clocks/keeper/note_store.h"
#include "daemon/clocks/pause/dcgm_door.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/clock.h"
#include "storage/base/status.h"

namespace kprof {

// The note's name.
constexpr const char* kPauseHoldName = "dcgm";

struct PauseHold {
  std::string boot_id;
  std::string holder;  // for people: "run 01J…"
  int64_t since_unix_ns = 0;
  bool by_others = false;  // it was paused before, and stays so
  bool set = false;        // it is known to be paused; else the note's writer may have been killed before the call
  bool operator==(const PauseHold&) const = default;
};

// Line breaks in the texts become spaces.
std::string PauseHoldText(const PauseHold& hold);

// Fails with kStorageBroken for a text of another form, one that is cut off, or one that does not add up.
Result<PauseHold> ParsePauseHold(std::string_view text);

class KeptPause : public KeptThing {
 public:
  struct Options {
    std::string library;    // of DCGM; empty: the usual ones
    std::string tool_path;  // folders where dcgmi may be, before PATH
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
