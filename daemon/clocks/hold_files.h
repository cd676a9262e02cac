// The folder with one file for each device that kprof has changed: NAME.held (clock_hold.h), on the disk before the
// first change, and gone after the last is undone. Beside it NAME.lock says who works on the device at this moment: one
// process at a time, and a lock that is gone with it.
//
// Any thread; blocks for the disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/clocks/clock_hold.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

class HoldFiles {
 public:
  // The folder is made when something is written.
  HoldFiles(Files& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  // On the disk when it returns.
  Status Write(const ClockHold& hold);
  // One that is there already: either of the two is on the disk when it returns.
  Status Rewrite(const ClockHold& hold);
  // Nothing: the device is as it was. Fails with kStorageBroken for one that is damaged.
  Result<std::optional<ClockHold>> Read(const std::string& uuid);
  // Gone from the disk when it returns.
  Status Remove(const std::string& uuid);
  // A damaged one, out of the way, for people to look at.
  Status SetAside(const std::string& uuid);

  // The devices of which there is one, damaged or not.
  Result<std::vector<std::string>> List();

  // Waits for it that long. Fails with kTimedOut, and says who has it.
  Result<std::unique_ptr<File>> Lock(const std::string& uuid, int64_t wait_ms);

  const std::string& folder() const { return folder_; }

 private:
  Status Put(const ClockHold& hold);
  std::string PathOf(const std::string& uuid) const;

  Files& files_;
  const std::string folder_;
};

// Whether it can be a file's name: the uuids of NVIDIA's devices are letters, digits and dashes.
bool IsDeviceUuid(const std::string& uuid);

}  // namespace kprof
