// Limits what may be stored: by all together, and by each user, so that one cannot take the disk of the others. The
// catalog knows what a user has (retention.h); this file says what they may have, and what they are told when that is
// reached.
//
// Limits hold where something new is asked for: runs that were taken in before end with all that they print.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "storage/base/mutex.h"
#include "storage/base/status.h"
#include "storage/catalog/retention.h"
#include "storage/db/db.h"

namespace kprof {

// The limits; a reload changes them. Any thread.
class StorageLimits {
 public:
  // 0: no limit.
  struct Values {
    int64_t artifact_bytes = 0;  // of all users, as retention keeps it; finished and unfinished uploads
    int64_t runs_per_uid = 0;    // and as many sessions
    int64_t bytes_per_uid = 0;   // OwnedSums::bytes
  };
  StorageLimits() = default;
  explicit StorageLimits(const Values& values) { Set(values); }

  void Set(const Values& values);
  int64_t artifact_bytes() const { return artifact_bytes_.load(std::memory_order_relaxed); }
  int64_t runs_per_uid() const { return runs_per_uid_.load(std::memory_order_relaxed); }
  int64_t bytes_per_uid() const { return bytes_per_uid_.load(std::memory_order_relaxed); }

  // Call it within the transaction that stores one more run, or more bytes. kStorageFull says what the user has, may
  // have and can do.
  Status CheckRun(Db& db, uint32_t uid, const std::string& act) const;
  Status CheckBytes(Db& db, uint32_t uid, int64_t more_bytes, const std::string& act) const;
  // If the user has as many sessions as allowed, removes the oldest that has ended and has no run left: nobody could
  // delete it, and the audit has what was done in it. kStorageFull where there is none.
  Status MakeRoomForSession(Db& db, uint32_t uid, const std::string& act) const;

  // The failure of CheckBytes, for callers that count bytes that the catalog does not know yet.
  Status NoRoom(uint32_t uid, int64_t stored_bytes, int64_t more_bytes, const std::string& act) const;

 private:
  Status CheckCount(uint32_t uid, int64_t count, const char* things, const char* remedy, const std::string& act) const;

  std::atomic<int64_t> artifact_bytes_{0};
  std::atomic<int64_t> runs_per_uid_{0};
  std::atomic<int64_t> bytes_per_uid_{0};
};

// A fair part for each user where nobody has said how much: a quarter of the file system that `folder` is on. Fails as
// statvfs does.
Result<int64_t> FairBytesPerUid(const std::string& folder);

// The bytes of that file system that files on their way through leave free: 1 GiB, or a twentieth of a small one. Fails
// as statvfs does.
Result<int64_t> KeptFreeBytes(const std::string& folder);

// Below that many free bytes a file system counts as nearly full: 64 MiB, or an eighth of a small one. Fails as statvfs
// does.
Result<int64_t> LittleFreeBytes(const std::string& folder);

// Counts the bytes of unfinished uploads against the limits of what is stored. An upload is refused while it comes in
// if it could not stay even if retention removed all that it may, and if its run's owner has no room for it.
//
// Any thread.
class UploadBytes {
 public:
  explicit UploadBytes(const StorageLimits& limits) : limits_(limits) {}

  // Bytes that were stored beside the upload when it began.
  struct Beside {
    int64_t lasting_bytes = 0;  // artifacts that retention cannot remove; where they have a limit
    int64_t owned_bytes = 0;    // of the owner
  };
  // Counts so many more, if they fit; else kStorageFull says which limit is reached, and the remedy.
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

// The bytes of a source that came over the wire, until it is gone. One thread at a time.
class SpooledBytes {
 public:
  SpooledBytes(UploadBytes& bytes, uint32_t owner, const UploadBytes::Beside& beside)
      : bytes_(bytes), owner_(owner), beside_(beside) {}
  ~SpooledBytes() { bytes_.Shrink(owner_, size_bytes_); }
  SpooledBytes(const SpooledBytes&) = delete;
  SpooledBytes& operator=(const SpooledBytes&) = delete;

  // An empty one, for the same owner and beside the same bytes.
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
