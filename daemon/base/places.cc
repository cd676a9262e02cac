#include "daemon/base/places.h"

#include <utility>

namespace kprof {

Places::Place::Place(Place&& other) noexcept : places_(std::exchange(other.places_, nullptr)), uid_(other.uid_) {}

Places::Place::~Place() {
  if (places_ == nullptr) return;
  std::lock_guard lock(places_->mu_);
  --places_->taken_;
  auto of_uid = places_->taken_by_uid_.find(uid_);
  if (--of_uid->second == 0) places_->taken_by_uid_.erase(of_uid);
}

Result<Places::Place> Places::Take(uint32_t uid, const std::string& act, const std::string& things) {
  std::lock_guard lock(mu_);
  auto of_uid = taken_by_uid_.find(uid);
  if (of_uid != taken_by_uid_.end() && of_uid->second >= options_.limit_per_uid) {
    return Fail(ErrorCode::kQueueFull, act,
                std::to_string(of_uid->second) + " " + things + " of uid " + std::to_string(uid) +
                    " are under way already, which is the limit",
                "try again when one of them has ended");
  }
  if (taken_ >= options_.limit) {
    return Fail(ErrorCode::kQueueFull, act,
                std::to_string(taken_) + " " + things + " are under way already, which is the limit",
                "try again when one of them has ended");
  }
  ++taken_;
  ++taken_by_uid_[uid];
  return Place(*this, uid);
}

}  // namespace kprof
