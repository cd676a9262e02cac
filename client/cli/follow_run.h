// Waits for a run's end, showing where it is. What to say about the end is the verb's.
#pragma once

#include <functional>
#include <string>

#include "client/cli/output.h"
#include "client/cpp/run_follower.h"

namespace kprof::cli {

struct FollowOptions {
  bool hold = false;               // the run lives only while we follow
  bool interrupt_cancels = false;  // Ctrl-C cancels the run; else it only ends the waiting
  int64_t reconnect_ms = 10'000;
};

// The run as it ended, however it ended. Fails when its end cannot be learnt: kLostDaemon, kNotFound, kCancelled
// (Ctrl-C without interrupt_cancels).
Result<v1::Run> FollowRun(const RunFollower::Connect& connect, const std::string& run_id, const FollowOptions& options,
                          Output& output);

}  // namespace kprof::cli
