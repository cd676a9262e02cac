// Reads what the command of a followed run prints out of the run's logs, as it prints it: where there is no way to its
// supervisor (direct_output.h).
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/followers.h"
#include "kprof/v1/runs.pb.h"
#include "storage/base/descriptors.h"
#include "storage/base/mutex.h"

namespace kprof::cli {

// The object belongs to one thread; a thread inside reads each of the two streams. At most 1 MiB of a stream waits to
// be taken: then its reader waits, and the daemon passes over what it cannot send, as it does for any slow reader of a
// log. The destructor ends the readers and joins.
class CommandOutput {
 public:
  struct Piece {
    v1::OutputStream stream = v1::OUTPUT_STREAM_STDOUT;
    std::string data;
    int64_t dropped_bytes = 0;  // passed over before `data`
  };

  // `connect` is called on the inner threads. A daemon that goes away is tried again for `reconnect_ms`.
  CommandOutput(RunFollower::Connect connect, std::string run_id, int64_t reconnect_ms);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // Readable (poll) while there is something to take, and once when all is over.
  int fd() const { return event_.get(); }
  // All that came since the last Take, in its order for each stream.
  std::vector<Piece> Take();
  // True once both streams have ended, with the run, and all was taken.
  bool is_over() const;
  // The first failure of a reader, if there was one. The logs may have more than was passed on.
  Status failure() const;

 private:
  static constexpr size_t kStreams = 2;

  void Follow(const std::stop_token& stop, size_t index);
  using Clock = std::chrono::steady_clock;
  Status FollowOnce(const std::stop_token& stop, size_t index, int64_t& received_bytes, bool& has_gap,
                    std::optional<Clock::time_point>& connected);
  void Give(const std::stop_token& stop, size_t index, Piece piece);

  // Set once.
  const RunFollower::Connect connect_;
  const std::string run_id_;
  const int64_t reconnect_ms_;
  UniqueFd event_;

  mutable Mutex mu_;
  std::condition_variable_any taken_;
  std::vector<Piece> pieces_ KPROF_GUARDED_BY(mu_);
  std::array<size_t, kStreams> waiting_bytes_ KPROF_GUARDED_BY(mu_) = {};
  size_t ended_ KPROF_GUARDED_BY(mu_) = 0;
  Status failure_ KPROF_GUARDED_BY(mu_);

  std::array<std::jthread, kStreams> threads_;  // last: end before what they use
};

}  // namespace kprof::cli
