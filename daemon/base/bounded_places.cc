#include "daemon/base/bounded_places.h"

#include <utility>

namespace kprof {

Places::Place::Place(Place&& other) noexcept : places_(std::exchange(other.places_, nullptr)), uid_(other.uid_) {}

Places::Place::~Place() {
  if (places_ == nullptr) return;
  MutexLock lock(places_->mu_);
  --places_->taken_;
  auto of_uid = places_->taken_by_uid_.find(uid_);
  if (--of_uid->second == 0) places_->taken_by_uid_.erase(of_uid);
}

Result<Places::Place> Places::Take(uint32_t uid, const std::string& act, const std::string& things) {
  auto refuse = [&](const std::string& whose, int taken) {
    return Fail(ErrorCode::kQueueFull, act,
                "as many " + things + whose + " as may be at a time are under way: " + std::to_string(taken),
                "try again when one has ended");
  };
  MutexLock lock(mu_);
  if (auto of_uid = taken_by_uid_.find(uid);
      of_uid != taken_by_uid_.end() && of_uid->second >= options_.limit_per_uid) {
    return refuse(" of uid " + std::to_string(uid), of_uid->second);
  }
  if (taken_ >= options_.limit) return refuse("", taken_);
  ++taken_;
  ++taken_by_uid_[uid];
  return Place(*this, uid);
}

}  // namespace kprof
