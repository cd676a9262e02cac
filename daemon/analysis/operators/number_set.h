// Numbers from 0 on (of strings), to be asked for one by one, a million times: a byte each where they are small, as
// they are in a part of ours; the others are looked up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

namespace kprof {

class NumberSet {
 public:
  // REQUIRES: it is not negative.
  void Add(int64_t number) {
    least_ = std::min(least_, number);
    most_ = std::max(most_, number);
    if (number >= kFar) {
      far_.insert(number);
      return;
    }
    if (static_cast<size_t>(number) >= near_.size()) near_.resize(static_cast<size_t>(number) + 1);
    near_[static_cast<size_t>(number)] = 1;
  }

  bool empty() const { return least_ > most_; }
  bool is_one() const { return least_ == most_; }
  int64_t least() const { return least_; }
  int64_t most() const { return most_; }
  bool Has(int64_t number) const {
    if (number < least_ || number > most_) return false;
    if (number >= kFar) return far_.contains(number);
    return static_cast<size_t>(number) < near_.size() && near_[static_cast<size_t>(number)] != 0;
  }

 private:
  static constexpr int64_t kFar = 1 << 24;

  std::vector<uint8_t> near_;
  std::unordered_set<int64_t> far_;
  int64_t least_ = std::numeric_limits<int64_t>::max();
  int64_t most_ = std::numeric_limits<int64_t>::min();
};

}  // namespace kprof
