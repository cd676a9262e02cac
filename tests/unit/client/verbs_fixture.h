// For the tests of kprofctl's verbs: kprofctl from its arguments to its output and exit code, against a daemon that
// answers as told.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/cli/kprofctl.h"
#include "tests/fakes/rpc/fake_daemon.h"
#include "tests/unit/client/captured_output.h"
#include "tests/unit/client/scratch_folder.h"

namespace kprof::cli {

inline v1::Run RunIn(v1::RunState state) {
  v1::Run run;
  run.set_id("01jd");
  run.set_state(state);
  run.set_tool("command");
  run.add_argv("true");
  run.add_devices("cpu");
  run.set_queued_unix_ns(1'795'267'369'000'000'000);
  return run;
}

inline v1::Run Done() {
  v1::Run run = RunIn(v1::RUN_STATE_DONE);
  run.set_started_unix_ns(run.queued_unix_ns());
  run.set_ended_unix_ns(run.queued_unix_ns() + 2'000'000'000);
  run.set_exit_code(0);
  return run;
}

inline v1::Run Failed(const std::string& code) {
  v1::Run run = Done();
  run.set_state(code == "cancelled" ? v1::RUN_STATE_CANCELLED : v1::RUN_STATE_FAILED);
  run.clear_exit_code();
  run.mutable_error()->set_code(code);
  run.mutable_error()->set_message("because");
  return run;
}

inline v1::WatchRunResponse Watched(const v1::Run& run, int queue_position = 0) {
  v1::WatchRunResponse response;
  *response.mutable_run() = run;
  response.set_queue_position(queue_position);
  response.set_now_unix_ns(run.queued_unix_ns());
  return response;
}

// For what happens on another thread. A test that waits in vain is ended by whoever runs the tests.
inline void WaitUntil(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

class VerbsFixture : public testing::Test {
 protected:
  void SetUp() override {
    if (kUnderThreadSanitizer) GTEST_SKIP() << "gRPC is not instrumented";
    // Whatever we were started under: as in a terminal.
    for (int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
  }

  // Its exit code; results_ and notes_ have all that was printed so far.
  int Kprofctl(std::vector<std::string> args) {
    args.insert(args.begin(), {"--socket", daemon_.socket_path()});
    int exit_status = RunKprofctl(args, captured_.output(), 2000);
    results_ = captured_.Results();
    notes_ = captured_.Notes();
    return exit_status;
  }

  // Every name is `run`'s; looked_up_ has the names.
  void AnswerLookUps(const v1::Run& run) {
    daemon_.calls.get_run = [this, run](const v1::GetRunRequest& request, v1::GetRunResponse& response) {
      std::lock_guard lock(mu_);
      looked_up_.push_back(request.id());
      *response.mutable_run() = run;
      return OkStatus();
    };
  }

  // Who watches a run hears nothing for as long as the daemon lives; `watched` becomes true.
  void WatchUntilGone(std::atomic<bool>& watched) {
    daemon_.calls.watch_run = [&watched](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
      watched = true;
      WaitUntil(stream.gone);
      return OkStatus();
    };
  }

  // The daemon goes away as soon as `flag` is true, and stays away.
  [[nodiscard]] std::jthread StopOnce(const std::atomic<bool>& flag) {
    return std::jthread([this, &flag] {
      WaitUntil([&flag] { return flag.load(); });
      daemon_.Stop();
    });
  }

  ScratchFolder folder_;
  FakeDaemon daemon_{folder_.Path("s")};
  CapturedOutput captured_;
  std::string results_;
  std::string notes_;
  std::mutex mu_;  // guards what the daemon's threads write while kprofctl runs
  std::vector<std::string> looked_up_;
};

}  // namespace kprof::cli
