// The notes of the devices whose clocks kprof has changed: files of a NoteStore, by the devices' uuids. A note says
// what was changed and how it was before. It is on the disk from before the first change until after the last is
// undone. docs/clocks.md shows one.
//
// Any thread; ClockNotes blocks for the disk. The rest are values and pure functions.
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

// The settings before kprof changed them. Absent: the device does not tell it, or it is left alone.
struct PriorClocks {
  std::optional<bool> persistence;
  std::optional<uint32_t> power_limit_mw;
  std::optional<uint32_t> application_memory_mhz;
  std::optional<uint32_t> application_sm_mhz;
  bool operator==(const PriorClocks&) const = default;
};

// The settings that are wanted.
struct WantedClocks {
  std::optional<uint32_t> sm_mhz;  // 0: its base, which it knows itself
  std::optional<uint32_t> memory_mhz;
  bool persistence = false;
  std::optional<uint32_t> power_limit_mw;
  bool operator==(const WantedClocks&) const = default;
};

// The settings that are known to be made. One that is wanted and not in here may be made or not: its writer may have
// been killed in between.
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

// Fails with kStorageBroken for a text of another form, one that is cut off, or one that does not add up.
Result<ClockHold> ParseClockHold(std::string_view text);

class ClockNotes {
 public:
  ClockNotes(Files& files, std::string folder) : files_(files, std::move(folder)) {}

  // As in NoteStore.
  Status Write(const ClockHold& hold);
  Status Rewrite(const ClockHold& hold);
  // Absent: the device is as it was. Fails with kStorageBroken for a damaged note.
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
