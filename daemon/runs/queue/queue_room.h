// Bounds how many may wait at a time, in all and of one user. It only counts: the order is lease_queue.h. One that is
// on the way into the queue counts already. One that a restart takes back counts, too, and is never refused: it was
// accepted once. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "storage/base/status.h"

namespace kprof {

// The limits of runs; the configuration's [queue].
struct QueueLimits {
  size_t runs = 10'000;
  size_t runs_per_uid = 2'000;
  size_t running_without_device = 8;
  bool operator==(const QueueLimits&) const = default;
};

class QueueRoom {
 public:
  struct Limits {
    size_t all = 0;
    size_t per_uid = 0;
  };
  // `full`: what the message says behind the limit: "runs are waiting already".
  QueueRoom(const Limits& limits, std::string full) : limits_(limits), full_(std::move(full)) {}

  // Fails with kQueueFull if no more of that user may come; says which limit it is, and the remedy.
  Status Check(uint32_t uid, const std::string& act) const;

  void Enter(uint32_t uid);
  void Leave(uint32_t uid);  // REQUIRES: entered

  size_t taken() const { return taken_; }
  const Limits& limits() const { return limits_; }

 private:
  const Limits limits_;
  const std::string full_;
  size_t taken_ = 0;
  std::unordered_map<uint32_t, size_t> taken_by_uid_;  // no zeros
};

}  // namespace kprof
