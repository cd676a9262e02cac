// The notes of which devices have clocks that kprof has changed: note_store.h, with clock_notes.h as what they say, by
// the devices' uuids.
//
// Any thread; blocks for the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/clocks/keeper/note_store.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// What kprof has changed of a device, and how it was before: the text of the file that says so on the disk, from before
// the first change until after the last is undone (clock_notes.h). docs/clocks.md shows one. A value; pure functions.

// Absent: the device does not tell it, or it is left alone.
struct PriorClocks {
  std::optional<bool> persistence;
  std::optional<uint32_t> power_limit_mw;
  std::optional<uint32_t> application_memory_mhz;
  std::optional<uint32_t> application_sm_mhz;
  bool operator==(const PriorClocks&) const = default;
};

// What the device is to be set to.
struct WantedClocks {
  std::optional<uint32_t> sm_mhz;  // 0: its base, which it knows itself
  std::optional<uint32_t> memory_mhz;
  bool persistence = false;
  std::optional<uint32_t> power_limit_mw;
  bool operator==(const WantedClocks&) const = default;
};

// What is known to be set. What is wanted and not in here may be, or not: whoever noted it may have been killed
// between.
struct ClocksSet {
  bool sm = false;
  bool memory = false;
  bool persistence = false;
  bool power = false;
  bool operator==(const ClocksSet&) const = default;
};

struct ClockHold {
  std::string boot_id;
  std::string uuid;    // of the device
  std::string holder;  // for people: "run 01J…", "clocks lock of uid 1000"
  int64_t since_unix_ns = 0;
  PriorClocks prior;
  WantedClocks wanted;
  ClocksSet set;
  bool operator==(const ClockHold&) const = default;
};

// Line breaks in the texts become spaces.
std::string ClockHoldText(const ClockHold& hold);

// Fails with kStorageBroken for what is no such text, is cut off, or does not add up.
Result<ClockHold> ParseClockHold(std::string_view text);

class ClockNotes {
 public:
  ClockNotes(Files& files, std::string folder) : files_(files, std::move(folder)) {}

  // As NoteStore has them.
  Status Write(const ClockHold& hold);
  Status Rewrite(const ClockHold& hold);
  // Nothing: the device is as it was. Fails with kStorageBroken for one that is damaged.
  Result<std::optional<ClockHold>> Read(const std::string& uuid);
  Status Remove(const std::string& uuid) { return files_.Remove(uuid); }
  Status SetAside(const std::string& uuid) { return files_.SetAside(uuid); }
  Result<std::vector<std::string>> List() { return files_.List(); }
  Result<std::unique_ptr<File>> Lock(const std::string& uuid, int64_t wait_ms) {
    return files_.Lock(uuid, "the device", wait_ms);
  }

  const std::string& folder() const { return files_.folder(); }

 private:
  NoteStore files_;
};

}  // namespace kprof
