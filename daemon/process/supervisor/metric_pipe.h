// What a command writes to $KPROF_METRICS, kept until its end: the first kMostMetricTextBytes of it; what comes behind
// is counted. What it says is for the daemon to find out: a supervisor knows no JSON, and is its caller's own process,
// whose word would not count.
//
// The command holds the other end of the pipe under a high number and finds its path in $KPROF_METRICS:
// /proc/PID/fd/N, which any process of the command's user can open, also one that was started without that descriptor.
//
// One thread. Never waits: a turn reads one piece.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <utility>

#include "storage/base/unique_fd.h"

namespace kprof {

class MetricPipe {
 public:
  // `read_end` does not block.
  explicit MetricPipe(UniqueFd read_end) : pipe_(std::move(read_end)) {}

  // fd -1 once nobody can write any more.
  pollfd wait() const { return {pipe_.valid() ? pipe_.get() : -1, POLLIN, 0}; }
  void Turn();
  // Takes what is there and no more, whoever still holds the other end.
  void Close();

  std::string TakeText() { return std::move(text_); }
  int64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  bool Move();

  UniqueFd pipe_;
  std::string text_;
  int64_t dropped_bytes_ = 0;
};

}  // namespace kprof
