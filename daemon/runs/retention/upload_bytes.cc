#include "daemon/runs/retention/upload_bytes.h"

namespace kprof {
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
