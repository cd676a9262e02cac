// The bytes of unfinished uploads, which count against the limit of all artifacts ([retention] max_artifact_bytes):
// what could not stay even if retention removed all that it may is refused while it comes in.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace kprof {

class UploadBytes {
 public:
  // 0: no limit.
  explicit UploadBytes(int64_t max_artifact_bytes) : max_artifact_bytes_(max_artifact_bytes) {}

  int64_t max_artifact_bytes() const { return max_artifact_bytes_.load(std::memory_order_relaxed); }
  // Of what comes in from now on.
  void SetLimit(int64_t max_artifact_bytes) {
    max_artifact_bytes_.store(max_artifact_bytes, std::memory_order_relaxed);
  }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Counts so many more, if they fit beside `lasting_bytes`, the artifacts that retention cannot remove.
  bool Grow(int64_t by_bytes, int64_t lasting_bytes) {
    const int64_t limit_bytes = max_artifact_bytes();
    int64_t bytes = bytes_.load(std::memory_order_relaxed);
    do {
      if (limit_bytes > 0 && lasting_bytes + bytes + by_bytes > limit_bytes) return false;
    } while (!bytes_.compare_exchange_weak(bytes, bytes + by_bytes, std::memory_order_relaxed));
    return true;
  }
  void Shrink(int64_t by_bytes) { bytes_.fetch_sub(by_bytes, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> max_artifact_bytes_;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace kprof
