// That kprof has paused what else profiles on this node, and how it was before: the text of the note that says so on
// the disk (note_store.h), from before the first call until after the last. docs/quiet_devices.md shows one. A value;
// pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {

// The note's name.
constexpr const char* kPauseHoldName = "dcgm";

struct PauseHold {
  std::string boot_id;
  std::string holder;  // for people: "run 01J…"
  int64_t since_unix_ns = 0;
  bool by_others = false;  // it was paused before, and stays so
  bool set = false;        // it is known to be paused; else whoever noted it may have been killed before the call
  bool operator==(const PauseHold&) const = default;
};

// Line breaks in the texts become spaces.
std::string PauseHoldText(const PauseHold& hold);

// Fails with kStorageBroken for what is no such text, is cut off, or does not add up.
Result<PauseHold> ParsePauseHold(std::string_view text);

}  // namespace kprof
