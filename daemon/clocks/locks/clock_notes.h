// The notes of which devices have clocks that kprof has changed: note_store.h, with clock_hold.h as what they say, by
// the devices' uuids.
//
// Any thread; blocks for the disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/clocks/keeper/note_store.h"
#include "daemon/clocks/locks/clock_hold.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

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
