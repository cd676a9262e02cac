// Waits for a run's end, showing where it is. What to say about the end is the verb's.
#pragma once

#include <functional>
#include <string>

#include "client/cli/output.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cpp/followers.h"
#include "client/cpp/kprof_client.h"

namespace kprof::cli {

// The run that a verb is about, before the verb does its work: for verbs that need its whole id, because @last moves
// on.

// Fails as KprofClient::GetRun, but in the verb's own words: `act` ("wait for run") begins the message, because who
// asked to wait has not asked to see.
Result<v1::Run> FindRun(KprofClient& client, const std::string& name, const std::string& act);

struct FollowOptions {
  std::string act = "follow run";  // begins what a failure says: the verb's own words
  bool hold = false;               // the run lives only while we follow
  bool interrupt_cancels = false;  // a signal cancels the run; else it only ends the waiting
  int64_t reconnect_ms = 10'000;
  // Starts a run that is offered to this client to start. Called once at most; when it fails, the run is cancelled and
  // that is the failure.
  std::function<Status()> launch;
};

// The run as it ended, however it ended. Fails when its end cannot be learnt: kLostDaemon, kNotFound, kCancelled
// (a signal without interrupt_cancels). `interrupts` may have had its signal before: it is acted on at once.
Result<v1::Run> FollowRun(const RunFollower::Connect& connect, const std::string& run_id, const FollowOptions& options,
                          const Interrupts& interrupts, Output& output);

}  // namespace kprof::cli
