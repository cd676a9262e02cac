#include "daemon/runs/retention/storage_limits.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "storage/catalog/retention.h"

namespace kprof {
namespace {

constexpr int64_t kFairParts = 4;
constexpr int64_t kKeptParts = 20;
constexpr int64_t kMostKeptFreeBytes = int64_t{1} << 30;
constexpr int64_t kLittleParts = 8;
constexpr int64_t kMostLittleBytes = int64_t{64} << 20;

Result<int64_t> ReadDiskBytes(const std::string& folder) {
  struct statvfs found = {};
  if (::statvfs(folder.c_str(), &found) != 0) return FailErrno(errno, "look at the file system of " + folder);
  return static_cast<int64_t>(found.f_blocks) * static_cast<int64_t>(found.f_frsize);
}

}  // namespace

void StorageLimits::Set(const Values& values) {
  artifact_bytes_.store(values.artifact_bytes, std::memory_order_relaxed);
  runs_per_uid_.store(values.runs_per_uid, std::memory_order_relaxed);
  bytes_per_uid_.store(values.bytes_per_uid, std::memory_order_relaxed);
}

Status StorageLimits::CheckRun(Db& db, uint32_t uid, const std::string& act) const {
  ASSIGN_OR_RETURN(const OwnedSums owned, ReadOwned(db, uid));
  RETURN_IF_ERROR(CheckCount(uid, owned.runs, "runs", "delete some (kprofctl delete)", act));
  if (bytes_per_uid() == 0 || owned.bytes < bytes_per_uid()) return OkStatus();
  return NoRoom(uid, owned.bytes, 0, act);
}

Status StorageLimits::MakeRoomForSession(Db& db, uint32_t uid, const std::string& act) const {
  if (runs_per_uid() == 0) return OkStatus();
  ASSIGN_OR_RETURN(OwnedSums owned, ReadOwned(db, uid));
  if (owned.sessions >= runs_per_uid()) {
    ASSIGN_OR_RETURN(const bool removed, DeleteOldestEmptySession(db, uid));
    if (removed) --owned.sessions;
  }
  return CheckCount(uid, owned.sessions, "sessions", "close some, and delete their runs (kprofctl delete)", act);
}

Status StorageLimits::CheckBytes(Db& db, uint32_t uid, int64_t more_bytes, const std::string& act) const {
  if (bytes_per_uid() == 0) return OkStatus();
  ASSIGN_OR_RETURN(const OwnedSums owned, ReadOwned(db, uid));
  if (owned.bytes + more_bytes <= bytes_per_uid()) return OkStatus();
  return NoRoom(uid, owned.bytes, more_bytes, act);
}

Status StorageLimits::CheckCount(uint32_t uid, int64_t count, const char* things, const char* remedy,
                                 const std::string& act) const {
  if (runs_per_uid() == 0 || count < runs_per_uid()) return OkStatus();
  return Fail(ErrorCode::kStorageFull, act,
              "uid " + std::to_string(uid) + " has " + std::to_string(count) + " " + things + " stored, and may have " +
                  std::to_string(runs_per_uid()),
              std::string(remedy) + ", or have stored_runs_per_user in kprofd's [limits] raised");
}

Status StorageLimits::NoRoom(uint32_t uid, int64_t stored_bytes, int64_t more_bytes, const std::string& act) const {
  std::string why = "uid " + std::to_string(uid) + " has " + std::to_string(stored_bytes) + " bytes stored";
  if (more_bytes > 0) why += " and " + std::to_string(more_bytes) + " coming in";
  return Fail(ErrorCode::kStorageFull, act, why + ", and may have " + std::to_string(bytes_per_uid()),
              "delete runs (kprofctl delete), or have stored_bytes_per_user in kprofd's [limits] raised");
}

Result<int64_t> FairBytesPerUid(const std::string& folder) {
  ASSIGN_OR_RETURN(const int64_t disk_bytes, ReadDiskBytes(folder));
  return disk_bytes / kFairParts;
}

Result<int64_t> KeptFreeBytes(const std::string& folder) {
  ASSIGN_OR_RETURN(const int64_t disk_bytes, ReadDiskBytes(folder));
  return std::min(kMostKeptFreeBytes, disk_bytes / kKeptParts);
}

Result<int64_t> LittleFreeBytes(const std::string& folder) {
  ASSIGN_OR_RETURN(const int64_t disk_bytes, ReadDiskBytes(folder));
  return std::min(kMostLittleBytes, disk_bytes / kLittleParts);
}

namespace {

Status NoRoomBesideOthers(int64_t limit_bytes, int64_t lasting_bytes, int64_t unfinished_bytes,
                          const std::string& act) {
  return Fail(ErrorCode::kStorageFull, act,
              "all artifacts together may have " + std::to_string(limit_bytes) + " bytes, and " +
                  std::to_string(lasting_bytes) + " of them are of runs that stay (pinned, not ended, or this one), " +
                  std::to_string(unfinished_bytes) + " of unfinished uploads, this one included",
              "delete or unpin runs, or raise max_artifact_bytes in kprofd's [retention]");
}

}  // namespace

Status UploadBytes::Grow(uint32_t owner, int64_t by_bytes, const Beside& beside, const std::string& act) {
  MutexLock lock(mu_);
  const int64_t limit_bytes = limits_.artifact_bytes();
  if (limit_bytes > 0 && beside.lasting_bytes + bytes_ + by_bytes > limit_bytes) {
    return NoRoomBesideOthers(limit_bytes, beside.lasting_bytes, bytes_, act);
  }
  auto of_owner = bytes_by_owner_.find(owner);
  const int64_t coming_bytes = (of_owner == bytes_by_owner_.end() ? 0 : of_owner->second) + by_bytes;
  if (limits_.bytes_per_uid() > 0 && beside.owned_bytes + coming_bytes > limits_.bytes_per_uid()) {
    return limits_.NoRoom(owner, beside.owned_bytes, coming_bytes, act);
  }
  bytes_ += by_bytes;
  if (coming_bytes > 0) bytes_by_owner_[owner] = coming_bytes;
  return OkStatus();
}

void UploadBytes::Shrink(uint32_t owner, int64_t by_bytes) {
  if (by_bytes == 0) return;
  MutexLock lock(mu_);
  bytes_ -= by_bytes;
  auto of_owner = bytes_by_owner_.find(owner);
  of_owner->second -= by_bytes;
  if (of_owner->second == 0) bytes_by_owner_.erase(of_owner);
}

int64_t UploadBytes::bytes() const {
  MutexLock lock(mu_);
  return bytes_;
}

}  // namespace kprof
