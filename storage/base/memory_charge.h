// Counts memory against somebody's limit: asks for it as it grows, before it is taken, and gives it back in the end.
// Counts about the bytes that are used; the allocator's overhead is left out.
//
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "storage/base/status.h"

namespace kprof {

// Asks for so many more bytes; fails when they may not be taken. A negative number gives bytes back and is always
// granted. Null: there is no limit.
using TakeMemory = std::function<Status(int64_t bytes)>;

class MemoryCharge {
 public:
  explicit MemoryCharge(TakeMemory take = nullptr) : take_(std::move(take)) {}
  ~MemoryCharge() { Free(); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // Fails as TakeMemory does; then nothing more may be taken.
  Status Grow(int64_t bytes) {
    used_bytes_ += bytes;
    if (used_bytes_ <= taken_bytes_ || !take_) return OkStatus();
    // A little more than is needed, so it is not asked for in steps of a hundred bytes.
    const int64_t more = std::max(used_bytes_ - taken_bytes_, kStepBytes);
    RETURN_IF_ERROR(take_(more));
    taken_bytes_ += more;
    return OkStatus();
  }
  void Free() {
    if (taken_bytes_ > 0) static_cast<void>(take_(-taken_bytes_));
    taken_bytes_ = 0;
    used_bytes_ = 0;
  }
  int64_t used_bytes() const { return used_bytes_; }

 private:
  static constexpr int64_t kStepBytes = 16 << 10;

  const TakeMemory take_;
  int64_t used_bytes_ = 0;
  int64_t taken_bytes_ = 0;
};

}  // namespace kprof
