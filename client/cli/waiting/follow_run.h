// Waits for a run's end and shows its progress. Reporting the end is left to the verb.
#pragma once

#include <functional>
#include <string>

#include "client/cli/output.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cli/waiting/passed_output.h"
#include "client/cpp/followers.h"
#include "client/cpp/kprof_client.h"

namespace kprof::cli {

// Looks up the run that a verb is about, before the verb begins: @last moves on, so some verbs need the whole id first.
// Fails as KprofClient::GetRun does, but in the verb's own words: `act` ("wait for run") begins the message.
Result<v1::Run> FindRun(KprofClient& client, const std::string& name, const std::string& act);

struct FollowOptions {
  std::string act = "follow run";  // begins the message of a failure, in the verb's own words
  bool hold = false;               // the run lives only while we follow
  bool interrupt_cancels = false;  // a signal cancels the run; else it only ends the waiting
  int64_t reconnect_ms = 10'000;
  // Starts a run that the daemon offers to this client to start. Called once, and once more for a restarted daemon that
  // offers the run anew. When it fails, the run is cancelled and the daemon is told why.
  std::function<Status()> launch;
  PassOutput pass_output = PassOutput::kNowhere;
  DirectOutput* direct = nullptr;    // in use, or opened by `launch`; null: what is printed comes out of the logs
  bool prints_while_queued = false;  // the run has a step of --prepare, which does
};

// Returns the run as it ended, however it ended. Fails when the end cannot be learnt: kLostDaemon, kNotFound,
// kCancelled (a signal without interrupt_cancels), or the failure of `launch`. A signal that `interrupts` got before
// the call counts, too.
Result<v1::Run> FollowRun(const RunFollower::Connect& connect, const std::string& run_id, const FollowOptions& options,
                          const Interrupts& interrupts, Output& output);

}  // namespace kprof::cli
