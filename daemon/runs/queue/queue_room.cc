#include "daemon/runs/queue/queue_room.h"

namespace kprof {

Status QueueRoom::Check(uint32_t uid, const std::string& act) const {
  if (taken_ >= limits_.all) {
    return Fail(ErrorCode::kQueueFull, act, std::to_string(taken_) + " " + full_, "wait for some of them to end");
  }
  auto own = taken_by_uid_.find(uid);
  if (own == taken_by_uid_.end() || own->second < limits_.per_uid) return OkStatus();
  return Fail(ErrorCode::kQueueFull, act,
              std::to_string(own->second) + " " + full_ + " of uid " + std::to_string(uid) +
                  " alone, and one user may have no more",
              "wait for some of them to end, or end some");
}

void QueueRoom::Enter(uint32_t uid) {
  ++taken_;
  ++taken_by_uid_[uid];
}

void QueueRoom::Leave(uint32_t uid) {
  auto own = taken_by_uid_.find(uid);
  KPROF_CHECK(own != taken_by_uid_.end());
  --taken_;
  if (--own->second == 0) taken_by_uid_.erase(own);
}

}  // namespace kprof
