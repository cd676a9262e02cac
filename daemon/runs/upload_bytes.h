// The bytes of unfinished uploads, which count against the limits of what is stored (storage_limits.h): of all, where
// what could not stay even if retention removed all that it may is refused while it comes in, and of their run's owner.
//
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "daemon/runs/storage_limits.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

class UploadBytes {
 public:
  explicit UploadBytes(const StorageLimits& limits) : limits_(limits) {}

  // What was stored beside the upload when it began.
  struct Beside {
    int64_t lasting_bytes = 0;  // artifacts that retention cannot remove; where they have a limit
    int64_t owned_bytes = 0;    // of the owner
  };
  // Counts so many more, if they fit; kStorageFull says which limit they do not fit into, and the remedy.
  Status Grow(uint32_t owner, int64_t by_bytes, const Beside& beside, const std::string& act);
  void Shrink(uint32_t owner, int64_t by_bytes);

  int64_t bytes() const;
  const StorageLimits& limits() const { return limits_; }

 private:
  const StorageLimits& limits_;
  mutable Mutex mu_;
  int64_t bytes_ KPROF_GUARDED_BY(mu_) = 0;
  std::unordered_map<uint32_t, int64_t> bytes_by_owner_ KPROF_GUARDED_BY(mu_);  // no zeros
};

}  // namespace kprof
