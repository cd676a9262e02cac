// A file that takes up a little of the disk for nothing, so that on a full one there is still room for what makes room:
// a start, a delete. Blocking, any thread.
#pragma once

#include <string>

#include "storage/base/files.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

class SpaceReserve {
 public:
  // Enough for the commits of a few deletes, and for what SQLite keeps beside an open database.
  static constexpr int64_t kBytes = 1 << 20;

  SpaceReserve(Files& files, std::string path) : files_(files), path_(std::move(path)) {}

  // Gives the space to whoever is next. False when there was nothing to give.
  bool Release();

  // Takes the space again, or for the first time. Leaves nothing behind when it fails.
  Status Fill();

 private:
  Files& files_;
  const std::string path_;
  Mutex mu_;  // one at a time at the file
};

}  // namespace kprof
