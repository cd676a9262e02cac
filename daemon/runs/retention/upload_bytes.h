// The bytes of unfinished uploads, which count against the limits of what is stored (storage_limits.h): of all, where
// what could not stay even if retention removed all that it may is refused while it comes in, and of their run's owner.
//
// Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/runs/retention/storage_limits.h"
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

// What a source that came over the wire takes of them until it is gone. One thread at a time.
class SpooledBytes {
 public:
  SpooledBytes(UploadBytes& bytes, uint32_t owner, const UploadBytes::Beside& beside)
      : bytes_(bytes), owner_(owner), beside_(beside) {}
  ~SpooledBytes() { bytes_.Shrink(owner_, size_bytes_); }
  SpooledBytes(const SpooledBytes&) = delete;
  SpooledBytes& operator=(const SpooledBytes&) = delete;

  // None yet, of the same owner and beside the same.
  std::unique_ptr<SpooledBytes> Another() const { return std::make_unique<SpooledBytes>(bytes_, owner_, beside_); }
  // As UploadBytes::Grow.
  Status Grow(int64_t by_bytes, const std::string& act) {
    RETURN_IF_ERROR(bytes_.Grow(owner_, by_bytes, beside_, act));
    size_bytes_ += by_bytes;
    return OkStatus();
  }
  int64_t size_bytes() const { return size_bytes_; }

 private:
  UploadBytes& bytes_;
  const uint32_t owner_;
  const UploadBytes::Beside beside_;
  int64_t size_bytes_ = 0;
};

}  // namespace kprof
