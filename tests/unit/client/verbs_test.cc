// kprofctl from its arguments to its output and exit code, against a daemon that answers as told.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "client/cli/kprofctl.h"
#include "storage/base/sha256.h"
#include "tests/fakes/rpc/fake_daemon.h"
#include "tests/unit/client/captured_output.h"
#include "tests/unit/client/sample_run.h"
#include "tests/unit/client/scratch_folder.h"

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

v1::Run RunIn(v1::RunState state) {
  v1::Run run;
  run.set_id("01jd");
  run.set_state(state);
  run.set_tool("command");
  run.add_argv("true");
  run.add_devices("cpu");
  run.set_queued_unix_ns(1'795'267'369'000'000'000);
  return run;
}

v1::Run Done() {
  v1::Run run = RunIn(v1::RUN_STATE_DONE);
  run.set_started_unix_ns(run.queued_unix_ns());
  run.set_ended_unix_ns(run.queued_unix_ns() + 2'000'000'000);
  run.set_exit_code(0);
  return run;
}

v1::Run Failed(const std::string& code) {
  v1::Run run = Done();
  run.set_state(code == "cancelled" ? v1::RUN_STATE_CANCELLED : v1::RUN_STATE_FAILED);
  run.clear_exit_code();
  run.mutable_error()->set_code(code);
  run.mutable_error()->set_message("because");
  return run;
}

v1::WatchRunResponse Watched(const v1::Run& run, int queue_position = 0) {
  v1::WatchRunResponse response;
  *response.mutable_run() = run;
  response.set_queue_position(queue_position);
  response.set_now_unix_ns(run.queued_unix_ns());
  return response;
}

class VerbsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kUnderThreadSanitizer) GTEST_SKIP() << "gRPC is not instrumented";
    // Whatever we were started under: as in a terminal.
    for (int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
  }

  int Kprofctl(std::vector<std::string> args) {
    args.insert(args.begin(), {"--socket", daemon_.socket_path()});
    int exit_status = RunKprofctl(args, captured_.output(), 2000);
    results_ = captured_.Results();
    notes_ = captured_.Notes();
    return exit_status;
  }

  // A capture whose run is `ended` at once.
  void AnswerCaptures(const v1::Run& ended) {
    daemon_.calls.submit_run = [this](const v1::SubmitRunRequest& request, v1::SubmitRunResponse& response) {
      std::lock_guard lock(mu_);
      submitted_.push_back(request);
      *response.mutable_run() = RunIn(v1::RUN_STATE_QUEUED);
      return OkStatus();
    };
    daemon_.calls.watch_run = [ended](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
      stream.write(Watched(ended));
      return OkStatus();
    };
  }

  ScratchFolder folder_;
  FakeDaemon daemon_{folder_.Path("s")};
  CapturedOutput captured_;
  std::string results_;
  std::string notes_;
  std::mutex mu_;
  std::vector<v1::SubmitRunRequest> submitted_;
};

TEST_F(VerbsTest, WithoutADaemonExitIsThreeAndTheRemedyIsNamed) {
  EXPECT_EQ(Kprofctl({"status", "--json"}), 3);
  EXPECT_EQ(results_, "");
  EXPECT_THAT(notes_, StartsWith("kprofctl: reach kprofd: no daemon at " + daemon_.socket_path()));
  EXPECT_THAT(notes_,
              HasSubstr("start one with 'kprofd --user'\n{\"schema\":\"kprof.error.v1\",\"code\":\"no_daemon\""));
}

TEST_F(VerbsTest, AMistakeOnTheCommandLineIsTwo) {
  EXPECT_EQ(Kprofctl({"sesion", "list"}), 2);
  EXPECT_EQ(notes_, "kprofctl: read the command line: there is no verb 'sesion'; see 'kprofctl --help'\n");
}

TEST_F(VerbsTest, StatusShowsBothVersions) {
  daemon_.calls.get_status = [](const v1::GetStatusRequest&, v1::GetStatusResponse& response) {
    response.set_version("9.8.7");
    response.set_started_unix_ns(1'000'000'000);
    response.set_now_unix_ns(6'000'000'000);
    response.set_mode("user");
    response.set_pid(42);
    response.mutable_queue()->set_limit(100);
    response.mutable_storage()->set_state_folder("/state");
    response.mutable_storage()->set_health("ok");
    v1::Device& device = *response.add_devices();
    device.set_id("cpu");
    device.set_kind("cpu");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"status"}), 0);
  EXPECT_THAT(results_, HasSubstr("kprofd      9.8.7, user mode, pid 42\nkprofctl    "));
  EXPECT_THAT(results_, HasSubstr("up          5.000 s\n"));
  EXPECT_THAT(results_, HasSubstr("cpu     cpu   free"));
}

TEST_F(VerbsTest, StatusAsJson) {
  daemon_.calls.get_status = [](const v1::GetStatusRequest&, v1::GetStatusResponse& response) {
    response.set_version("9.8.7");
    response.set_now_unix_ns(5);
    v1::Device& device = *response.add_devices();
    device.set_id("0");
    device.set_kind("nvidia");
    device.set_run_id("01jd");
    device.set_run_uid(7);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"status", "--json"}), 0);
  EXPECT_THAT(results_, StartsWith("{\"schema\":\"kprof.status.v1\",\"client_version\":"));
  EXPECT_THAT(results_, HasSubstr(R"("version":"9.8.7")"));
  EXPECT_THAT(results_, HasSubstr(R"("started_ns":"0","now_ns":"5","uptime_ns":5)"));
  EXPECT_THAT(results_, HasSubstr(R"("devices":[{"id":"0","kind":"nvidia","name":"","uuid":null,"run":"01jd",)"
                                  R"("run_uid":7,"queued":0}])"));
}

TEST_F(VerbsTest, DevicesAndDoctor) {
  daemon_.calls.list_devices = [](const v1::ListDevicesRequest&, v1::ListDevicesResponse& response) {
    response.add_devices()->set_id("cpu");
    return OkStatus();
  };
  daemon_.calls.diagnose = [](const v1::DiagnoseRequest&, v1::DiagnoseResponse& response) {
    v1::Diagnosis& diagnosis = *response.add_diagnoses();
    diagnosis.set_check("cpu_governor");
    diagnosis.set_level(v1::Diagnosis::LEVEL_WARNING);
    diagnosis.set_message("it is powersave");
    diagnosis.set_remedy("set performance");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"devices", "--json"}), 0);
  EXPECT_THAT(results_, StartsWith(R"({"schema":"kprof.devices.v1","devices":[{"id":"cpu")"));
  EXPECT_EQ(Kprofctl({"doctor"}), 0);
  EXPECT_THAT(results_, EndsWith("warning  cpu_governor: it is powersave\n         remedy: set performance\n"));
  EXPECT_EQ(Kprofctl({"doctor", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr(R"({"schema":"kprof.doctor.v1","diagnoses":[{"check":"cpu_governor",)"
                                  R"("level":"warning","message":"it is powersave","remedy":"set performance"}]})"));
}

TEST_F(VerbsTest, CaptureSendsTheCallersWorld) {
  ::setenv("KPROF_TEST_SECRET", "v\xff", 1);
  AnswerCaptures(Done());
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--device", "cpu", "--timeout", "3s", "--queue-timeout", "4s", "--env",
                      "ADDED=1", "--cwd", "/tmp", "--label", "a=b", "--shared", "--", "echo", "\xff"}),
            0);
  ASSERT_EQ(submitted_.size(), 1u);
  const v1::RunSpec& spec = submitted_[0].spec();
  EXPECT_EQ(submitted_[0].idempotency_key().size(), 32u);
  EXPECT_EQ(spec.tool(), "command");
  EXPECT_THAT(spec.argv(), ElementsAre("echo", "\xff"));
  EXPECT_EQ(spec.cwd(), "/tmp");
  EXPECT_EQ(spec.device(), "cpu");
  EXPECT_EQ(spec.timeout_ms(), 3000);
  EXPECT_EQ(spec.queue_timeout_ms(), 4000);
  EXPECT_EQ(spec.labels().at("a"), "b");
  EXPECT_TRUE(spec.shared());
  EXPECT_TRUE(spec.attached());
  EXPECT_TRUE(spec.has_umask());
  EXPECT_GT(spec.limits_size(), 10);
  std::map<std::string, std::string> environment;
  for (const v1::EnvironmentVariable& variable : spec.environment()) environment[variable.name()] = variable.value();
  EXPECT_EQ(environment["KPROF_TEST_SECRET"], "v\xff");
  EXPECT_EQ(environment["ADDED"], "1");
  EXPECT_THAT(results_, StartsWith("run         01jd\nstate       done, exit 0\n"));
  EXPECT_EQ(notes_, "");
}

TEST_F(VerbsTest, CaptureWithJsonPrintsExactlyOneObject) {
  AnswerCaptures(SampleRun());
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--json", "--", "true"}), 7);
  EXPECT_THAT(results_, StartsWith(R"({"schema":"kprof.run.v1","id":"01jd)"));
  EXPECT_EQ(std::count(results_.begin(), results_.end(), '\n'), 1);
  EXPECT_THAT(notes_, HasSubstr("run 01jd0000000000000000000000 failed: the command exited with 3\n"));
  EXPECT_THAT(notes_, HasSubstr(R"("code":"command_failed")"));
}

TEST_F(VerbsTest, CaptureDetachedPrintsOnlyTheId) {
  AnswerCaptures(Done());
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--detach", "--", "true"}), 0);
  EXPECT_EQ(results_, "01jd\n");
  EXPECT_FALSE(submitted_.at(0).spec().attached());
}

struct End {
  const char* code;
  int exit_status;
};

TEST_F(VerbsTest, CaptureExitsAsTheRunEnded) {
  for (const End& end :
       {End{"command_failed", 7}, End{"timed_out", 7}, End{"queue_timeout", 6}, End{"cancelled", 8},
        End{"lost_daemon", 11}, End{"storage_full", 12}, End{"spawn_failed", 7}, End{"bad_input", 10}}) {
    AnswerCaptures(Failed(end.code));
    daemon_.Start();
    EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), end.exit_status) << end.code;
    daemon_.Stop();
  }
}

TEST_F(VerbsTest, CaptureShowsTheEndOfTheErrorOutputOfWhatFailed) {
  v1::Run run = Failed("command_failed");
  run.set_stderr_bytes(100'000);
  run.set_stderr_dropped_bytes(50'000);
  AnswerCaptures(run);
  daemon_.calls.read_log = [](const v1::ReadLogRequest& request, FakeStream<v1::ReadLogResponse> stream) {
    EXPECT_EQ(request.stream(), v1::OUTPUT_STREAM_STDERR);
    EXPECT_EQ(request.offset_bytes(), 50'000 - 8192);
    v1::ReadLogResponse response;
    for (int i = 1; i <= 12; ++i) response.mutable_data()->append("line " + std::to_string(i) + "\x1b[2J\n");
    stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 7);
  EXPECT_THAT(notes_, HasSubstr("(all of it: kprofctl logs 01jd --stderr):\n  | line 3\\x1b[2J\n"));
  EXPECT_THAT(notes_, HasSubstr("  | line 12\\x1b[2J\nkprofctl: run 01jd failed: because\n"));
  EXPECT_THAT(notes_, Not(HasSubstr("line 2\\")));
}

TEST_F(VerbsTest, CaptureSaysOnceThatItIsQueued) {
  AnswerCaptures(Done());
  daemon_.calls.watch_run = [this](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_QUEUED), 3));
    while (captured_.Notes().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stream.write(Watched(RunIn(v1::RUN_STATE_QUEUED), 2));
    stream.write(Watched(Done()));
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 0);
  EXPECT_EQ(notes_, "kprofctl: run 01jd is queued, 2 before it\n");
}

// A terminal that remembers what was written to it.
class FakeTerminal {
 public:
  FakeTerminal() : keyboard_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    KPROF_CHECK(::grantpt(keyboard_.get()) == 0 && ::unlockpt(keyboard_.get()) == 0);
    screen_.Reset(::open(::ptsname(keyboard_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    KPROF_CHECK(screen_.valid());
  }
  int fd() const { return screen_.get(); }
  const std::string& Shown() {
    char bytes[4096];
    pollfd wait = {keyboard_.get(), POLLIN, 0};
    while (::poll(&wait, 1, 0) == 1) {
      ssize_t got = ::read(keyboard_.get(), bytes, sizeof(bytes));
      if (got <= 0) break;
      shown_.append(bytes, static_cast<size_t>(got));
    }
    return shown_;
  }

 private:
  UniqueFd keyboard_;
  UniqueFd screen_;
  std::string shown_;
};

TEST_F(VerbsTest, CaptureShowsProgressOnATerminalAndTakesItAway) {
  ::setenv("TERM", "xterm", 1);
  FakeTerminal terminal;
  AnswerCaptures(Done());
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_QUEUED), 3));
    while (terminal.Shown().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stream.write(Watched(Done()));
    return OkStatus();
  };
  daemon_.Start();
  UniqueFd results(::memfd_create("results", MFD_CLOEXEC));
  Output output(results.get(), terminal.fd());
  EXPECT_EQ(RunKprofctl({"--socket", daemon_.socket_path(), "capture", "command", "--", "true"}, output), 0);
  daemon_.Stop();
  EXPECT_THAT(terminal.Shown(), StartsWith("\r01jd  queued 0s, 2 runs before it\x1b[K"));
  EXPECT_THAT(terminal.Shown(), EndsWith("\r\x1b[K"));
}

TEST_F(VerbsTest, CaptureGoesOnAfterARestartOfTheDaemon) {
  AnswerCaptures(Done());
  std::atomic<int> streams = 0;
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    EXPECT_TRUE(request.hold());
    if (++streams == 1) {
      stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
      while (!stream.gone()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return OkStatus();
    }
    stream.write(Watched(Failed("lost_daemon")));
    return OkStatus();
  };
  daemon_.Start();
  std::thread restart([&] {
    while (streams == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    daemon_.Stop();
    daemon_.Start();
  });
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 11);
  restart.join();
  EXPECT_EQ(submitted_.size(), 1u);
  EXPECT_THAT(notes_, HasSubstr("run 01jd failed: because"));
}

TEST_F(VerbsTest, CaptureReportsADaemonThatStaysAway) {
  AnswerCaptures(Done());
  std::atomic<bool> watched = false;
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    watched = true;
    while (!stream.gone()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return OkStatus();
  };
  daemon_.Start();
  std::thread stop([&] {
    while (!watched) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    daemon_.Stop();
  });
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 11);
  stop.join();
  EXPECT_THAT(notes_, HasSubstr("the connection to kprofd is lost; trying again\n"));
  EXPECT_THAT(notes_, HasSubstr("did not come back within 2000 ms"));
}

TEST_F(VerbsTest, CaptureSubmitsAgainWithTheSameKeyWhenTheAnswerWasLost) {
  AnswerCaptures(Done());
  auto answer = daemon_.calls.submit_run;
  daemon_.calls.submit_run = [&, answer](const v1::SubmitRunRequest& request, v1::SubmitRunResponse& response) {
    RETURN_IF_ERROR(answer(request, response));
    return submitted_.size() == 1 ? Fail(ErrorCode::kNoDaemon, "submit", "the answer got lost") : OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 0);
  ASSERT_EQ(submitted_.size(), 2u);
  EXPECT_EQ(submitted_[0].idempotency_key(), submitted_[1].idempotency_key());
}

TEST_F(VerbsTest, InterruptedCaptureCancelsTheRunAndWaitsForItsEnd) {
  AnswerCaptures(Done());
  std::atomic<bool> cancelled = false;
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
    ::kill(::getpid(), SIGINT);
    while (!cancelled && !stream.gone()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stream.write(Watched(Failed("cancelled")));
    return OkStatus();
  };
  daemon_.calls.cancel_run = [&](const v1::CancelRunRequest& request, v1::CancelRunResponse&) {
    EXPECT_EQ(request.id(), "01jd");
    cancelled = true;
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 8);
  EXPECT_TRUE(cancelled);
  EXPECT_THAT(notes_, StartsWith("kprofctl: cancelling run 01jd; a second Ctrl-C leaves at once\n"));
}

TEST_F(VerbsTest, CaptureInterruptedWhileItSubmitsCancelsTheRun) {
  AnswerCaptures(Done());
  std::atomic<bool> cancelled = false;
  auto answer = daemon_.calls.submit_run;
  daemon_.calls.submit_run = [&, answer](const v1::SubmitRunRequest& request, v1::SubmitRunResponse& response) {
    ::kill(::getpid(), SIGHUP);
    return answer(request, response);
  };
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    while (!cancelled && !stream.gone()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stream.write(Watched(Failed("cancelled")));
    return OkStatus();
  };
  daemon_.calls.cancel_run = [&](const v1::CancelRunRequest& request, v1::CancelRunResponse&) {
    EXPECT_EQ(request.id(), "01jd");
    cancelled = true;
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 8);
  EXPECT_TRUE(cancelled);
}

TEST_F(VerbsTest, CaptureInterruptedWhileTheDaemonIsAwayLeaves) {
  daemon_.calls.submit_run = [](const v1::SubmitRunRequest&, v1::SubmitRunResponse&) {
    ::kill(::getpid(), SIGINT);
    return Fail(ErrorCode::kNoDaemon, "submit", "the answer got lost");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 8);
  EXPECT_THAT(notes_, StartsWith("kprofctl: submit a run: interrupted while kprofd was away"));
}

TEST_F(VerbsTest, InterruptedWaitLeavesTheRunAlone) {
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse& response) {
    *response.mutable_run() = RunIn(v1::RUN_STATE_RUNNING);
    return OkStatus();
  };
  daemon_.calls.watch_run = [](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    EXPECT_FALSE(request.hold());
    stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
    ::kill(::getpid(), SIGTERM);
    while (!stream.gone()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"wait", "@last"}), 8);
  EXPECT_EQ(notes_, "kprofctl: wait for run 01jd: interrupted\n");
}

TEST_F(VerbsTest, WaitExitsAsTheRunEnded) {
  daemon_.calls.get_run = [](const v1::GetRunRequest& request, v1::GetRunResponse& response) {
    EXPECT_EQ(request.id(), "@last");
    *response.mutable_run() = RunIn(v1::RUN_STATE_RUNNING);
    return OkStatus();
  };
  daemon_.calls.watch_run = [](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    EXPECT_EQ(request.id(), "01jd");
    stream.write(Watched(Failed("timed_out")));
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"wait", "@last"}), 7);
  EXPECT_EQ(results_, "run 01jd failed after 2.000 s\n");
  EXPECT_EQ(notes_, "kprofctl: run 01jd failed: because\n");
}

TEST_F(VerbsTest, WaitFailsInItsOwnWordsWhenTheRunIsLostInTheMiddle) {
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse& response) {
    *response.mutable_run() = RunIn(v1::RUN_STATE_RUNNING);
    return OkStatus();
  };
  daemon_.calls.watch_run = [](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
    return Fail(ErrorCode::kNotFound, "watch run 01jd", "there is none", "see 'kprofctl runs'");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"wait", "@last"}), 4);
  EXPECT_EQ(notes_, "kprofctl: wait for run 01jd: there is none; see 'kprofctl runs'\n");
}

TEST_F(VerbsTest, WaitFailsInItsOwnWordsWhenTheDaemonStaysAway) {
  std::atomic<bool> watched = false;
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse& response) {
    *response.mutable_run() = RunIn(v1::RUN_STATE_RUNNING);
    return OkStatus();
  };
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    watched = true;
    while (!stream.gone()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return OkStatus();
  };
  daemon_.Start();
  std::thread stop([&] {
    while (!watched) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    daemon_.Stop();
  });
  EXPECT_EQ(Kprofctl({"wait", "@last"}), 11);
  stop.join();
  EXPECT_THAT(notes_, HasSubstr("kprofctl: wait for run 01jd: kprofd went away and did not come back within 2000 ms"));
}

TEST_F(VerbsTest, RunsReadsPageAfterPageUpToTheLimit) {
  std::vector<int> asked;
  daemon_.calls.list_runs = [&](const v1::ListRunsRequest& request, v1::ListRunsResponse& response) {
    asked.push_back(request.page_size());
    EXPECT_EQ(request.page_token(), asked.size() == 1 ? "" : "more");
    EXPECT_EQ(request.labels().at("a"), "b");
    EXPECT_THAT(request.states(), ElementsAre(v1::RUN_STATE_DONE));
    for (int i = 0; i < request.page_size(); ++i) *response.add_runs() = Done();
    response.set_next_page_token("more");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"runs", "--limit", "450", "--label", "a=b", "--state", "done"}), 0);
  EXPECT_THAT(asked, ElementsAre(200, 200, 50));
  EXPECT_EQ(std::count(results_.begin(), results_.end(), '\n'), 451);
  EXPECT_THAT(results_,
              StartsWith("ID    STATE  TOOL     DEVICE  AGE  DURATION  EXIT  COMMAND\n01jd  done   command  cpu"));
}

TEST_F(VerbsTest, RunsAsJson) {
  daemon_.calls.list_runs = [&](const v1::ListRunsRequest&, v1::ListRunsResponse& response) {
    *response.add_runs() = Done();
    *response.add_runs() = Failed("timed_out");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"runs", "--json"}), 0);
  EXPECT_THAT(results_, StartsWith(R"({"schema":"kprof.runs.v1","runs":[{"schema":"kprof.run.v1","id":"01jd")"));
  EXPECT_THAT(results_, HasSubstr(R"(},{"schema":"kprof.run.v1","id":"01jd","state":"failed")"));
  EXPECT_THAT(results_, EndsWith("]}\n"));
}

TEST_F(VerbsTest, ShowAsksForTheArtifactsThatARunDoesNotCarry) {
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse& response) {
    *response.mutable_run() = SampleRun();
    response.mutable_run()->set_artifact_count(3);
    return OkStatus();
  };
  daemon_.calls.list_artifacts = [](const v1::ListArtifactsRequest& request, v1::ListArtifactsResponse& response) {
    const std::string& token = request.page_token();
    response.add_artifacts()->set_name("after_" + token);
    if (token != "2") response.set_next_page_token(token.empty() ? "1" : "2");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"show", "r", "--json"}), 0);
  for (const char* name : {"after_\"", "after_1", "after_2", "\"artifact_count\":3"}) {
    EXPECT_THAT(results_, HasSubstr(name));
  }
  EXPECT_THAT(results_, Not(HasSubstr("notes.txt")));
}

TEST_F(VerbsTest, ShowOfAnUnknownRunIsFour) {
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse&) {
    return Fail(ErrorCode::kNotFound, "look up run x", "there is none");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"show", "x"}), 4);
  EXPECT_EQ(notes_, "kprofctl: look up run x: there is none\n");
}

TEST_F(VerbsTest, AVerbThatFindsNoRunFailsInItsOwnWords) {
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse&) {
    return Fail(ErrorCode::kNotFound, "show run x", "there is none", "look");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"wait", "x"}), 4);
  EXPECT_EQ(Kprofctl({"delete", "x"}), 4);
  EXPECT_EQ(Kprofctl({"logs", "x", "--json"}), 4);
  EXPECT_THAT(notes_, StartsWith("kprofctl: wait for run x: there is none; look\n"
                                 "kprofctl: delete run x: there is none; look\n"
                                 "kprofctl: read log of run x: there is none; look\n"));
}

TEST_F(VerbsTest, CancelPinAndUnpinSayWhatTheyDid) {
  daemon_.calls.cancel_run = [](const v1::CancelRunRequest&, v1::CancelRunResponse& response) {
    *response.mutable_run() = RunIn(v1::RUN_STATE_RUNNING);
    return OkStatus();
  };
  daemon_.calls.pin_run = [](const v1::PinRunRequest&, v1::PinRunResponse& response) {
    *response.mutable_run() = Done();
    return OkStatus();
  };
  daemon_.calls.unpin_run = [](const v1::UnpinRunRequest&, v1::UnpinRunResponse& response) {
    *response.mutable_run() = Done();
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"cancel", "x"}), 0);
  EXPECT_EQ(Kprofctl({"pin", "x"}), 0);
  EXPECT_EQ(Kprofctl({"unpin", "x"}), 0);
  EXPECT_EQ(results_, "cancelling run 01jd\npinned run 01jd\nunpinned run 01jd\n");
}

TEST_F(VerbsTest, DeleteKnowsAllNamesBeforeItDeletesAndKeepsGoing) {
  std::vector<std::string> deleted;
  daemon_.calls.get_run = [&](const v1::GetRunRequest& request, v1::GetRunResponse& response) {
    EXPECT_THAT(deleted, IsEmpty());
    if (request.id() == "x") return Fail(ErrorCode::kNotFound, "look up run x", "there is none");
    response.mutable_run()->set_id("whole-" + request.id());
    return OkStatus();
  };
  daemon_.calls.delete_run = [&](const v1::DeleteRunRequest& request, v1::DeleteRunResponse& response) {
    if (request.id() == "whole-p") return Fail(ErrorCode::kUsage, "delete run p", "it is pinned", "unpin it first");
    deleted.push_back(request.id());
    response.set_id(request.id());
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"delete", "x", "@last", "p", "@last~1"}), 4);
  EXPECT_THAT(deleted, ElementsAre("whole-@last", "whole-@last~1"));
  EXPECT_EQ(results_, "deleted run whole-@last\ndeleted run whole-@last~1\n");
  EXPECT_THAT(notes_, HasSubstr("delete run x: there is none\n"));
  EXPECT_THAT(notes_, HasSubstr("delete run p: it is pinned; unpin it first\n"));
  deleted.clear();
  EXPECT_EQ(Kprofctl({"delete", "a", "--json"}), 0);
  EXPECT_THAT(results_, EndsWith("{\"schema\":\"kprof.deleted.v1\",\"deleted\":[\"whole-a\"]}\n"));
}

TEST_F(VerbsTest, LogsAreTheBytesThemselves) {
  daemon_.calls.read_log = [](const v1::ReadLogRequest& request, FakeStream<v1::ReadLogResponse> stream) {
    EXPECT_EQ(request.stream(), v1::OUTPUT_STREAM_STDOUT);
    EXPECT_TRUE(request.follow());
    v1::ReadLogResponse response;
    response.set_data("a\x1b[31m\xff");
    stream.write(response);
    response.set_data("b");
    response.set_dropped_bytes(2048);
    stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"logs", "@last", "-f"}), 0);
  EXPECT_EQ(results_,
            "a\x1b[31m\xff"
            "b");
  EXPECT_EQ(notes_, "kprofctl: 2.0 KiB in between were not kept\n");
}

TEST_F(VerbsTest, LogsWithManyGapsSayHowMuchIsMissingInAFewNotes) {
  daemon_.calls.read_log = [](const v1::ReadLogRequest&, FakeStream<v1::ReadLogResponse> stream) {
    v1::ReadLogResponse response;
    response.set_data("x");
    response.set_dropped_bytes(1024);
    for (int i = 0; i < 200; ++i) stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"logs", "r", "-f"}), 0);
  EXPECT_EQ(results_, std::string(200, 'x'));
  EXPECT_THAT(notes_, StartsWith("kprofctl: 1.0 KiB in between were not kept\n"));
  EXPECT_THAT(notes_, EndsWith("kprofctl: 200.0 KiB in all were not kept\n"));
  EXPECT_LT(std::count(notes_.begin(), notes_.end(), '\n'), 20);
}

TEST_F(VerbsTest, LogsAsJsonNameTheRunAndAreCutBetweenCharacters) {
  daemon_.calls.get_run = [](const v1::GetRunRequest& request, v1::GetRunResponse& response) {
    EXPECT_EQ(request.id(), "@last");
    *response.mutable_run() = Done();
    return OkStatus();
  };
  daemon_.calls.read_log = [](const v1::ReadLogRequest& request, FakeStream<v1::ReadLogResponse> stream) {
    EXPECT_EQ(request.id(), "01jd");
    for (const char* data : {"a\xe2\x82", "\xac", "z\xe2"}) {
      v1::ReadLogResponse response;
      response.set_data(data);
      stream.write(response);
    }
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"logs", "@last", "--stderr", "--json"}), 0);
  const std::string head = R"({"schema":"kprof.log.v1","run":"01jd","stream":"stderr","dropped_bytes":0,"data":)";
  EXPECT_EQ(results_, head + "\"a\"}\n" + head + "\"\xe2\x82\xac\"}\n" + head + "\"z\"}\n" + head + "\"\\\\xe2\"}\n");
}

FakeDaemon::Stream<v1::DownloadArtifactRequest, v1::DownloadArtifactResponse> Sends(const std::string& bytes,
                                                                                    const std::string& recorded_sha256,
                                                                                    const std::string& sent_sha256) {
  return [=](const v1::DownloadArtifactRequest&, FakeStream<v1::DownloadArtifactResponse> stream) {
    v1::DownloadArtifactResponse response;
    response.mutable_artifact()->set_name("n");
    response.mutable_artifact()->set_size_bytes(static_cast<int64_t>(bytes.size()));
    response.mutable_artifact()->set_sha256(recorded_sha256);
    stream.write(response);
    response.set_data(bytes);
    stream.write(response);
    response.set_sha256(sent_sha256);
    stream.write(response);
    return OkStatus();
  };
}

TEST_F(VerbsTest, ArtifactsGetWritesTheFileOrStandardOutput) {
  const std::string sha256 = Sha256Of(std::string("content"));
  daemon_.calls.download_artifact = Sends("content", sha256, sha256);
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path("f")}), 0);
  EXPECT_EQ(folder_.Get("f"), "content");
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", "-"}), 0);
  EXPECT_THAT(results_, EndsWith("content"));
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path(".")}), 0);
  EXPECT_EQ(folder_.Get("n"), "content");
  EXPECT_THAT(results_, EndsWith("/./n  7 B\n"));
}

TEST_F(VerbsTest, ArtifactsGetKeepsNothingOfWhatIsDamaged) {
  const std::string right = Sha256Of(std::string("content"));
  const std::string wrong = Sha256Of(std::string("else"));
  daemon_.calls.download_artifact = Sends("content", wrong, right);
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path("f")}), 12);
  daemon_.Stop();
  daemon_.calls.download_artifact = Sends("content", right, wrong);
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path("f")}), 1);
  EXPECT_EQ(folder_.CountFiles(), 1u);  // the socket
}

TEST_F(VerbsTest, ArtifactsPutAndList) {
  const std::string content(600'000, 'x');
  daemon_.calls.upload_artifact = [&](const v1::UploadArtifactRequest::Header& header, const std::string& bytes,
                                      v1::UploadArtifactResponse& response) {
    EXPECT_EQ(header.name(), "big.bin");
    EXPECT_EQ(bytes, content);
    response.mutable_artifact()->set_name(header.name());
    response.mutable_artifact()->set_size_bytes(600'000);
    response.mutable_artifact()->set_sha256(Sha256Of(bytes));
    return OkStatus();
  };
  daemon_.calls.list_artifacts = [](const v1::ListArtifactsRequest&, v1::ListArtifactsResponse& response) {
    *response.add_artifacts() = SampleRun().artifacts(0);
    return OkStatus();
  };
  daemon_.Start();
  folder_.Put("big.bin", content);
  EXPECT_EQ(Kprofctl({"artifacts", "r", "put", folder_.Path("big.bin")}), 0);
  EXPECT_EQ(results_, "stored big.bin  585.9 KiB\n");
  EXPECT_EQ(Kprofctl({"artifacts", "r", "--json"}), 0);
  EXPECT_THAT(results_, EndsWith(R"({"schema":"kprof.artifacts.v1","artifacts":[{"name":"notes.txt","size_bytes":1536,)"
                                 R"("sha256":"ab12"}]})"
                                 "\n"));
}

void SendOneRow(const FakeStream<v1::QueryResponse>& stream, bool truncated) {
  v1::QueryResponse message;
  message.mutable_header()->add_columns()->set_name("n");
  stream.write(message);
  message.mutable_batch()->set_rows(1);
  v1::ColumnData& column = *message.mutable_batch()->add_columns();
  column.add_kinds(v1::ColumnData::KIND_INTEGER);
  column.add_integers(5);
  stream.write(message);
  message.mutable_totals()->set_rows(1);
  message.mutable_totals()->set_truncated(truncated);
  stream.write(message);
}

TEST_F(VerbsTest, QueryPrintsEachFormat) {
  daemon_.calls.query = [](const v1::QueryRequest& request, FakeStream<v1::QueryResponse> stream) {
    EXPECT_EQ(request.sql(), "SELECT 5 AS n");
    EXPECT_EQ(request.timeout_ms(), 2000);
    EXPECT_EQ(request.row_limit(), 7);
    SendOneRow(stream, false);
    return OkStatus();
  };
  daemon_.Start();
  folder_.Put("q.sql", "SELECT 5 AS n");
  const std::string sql = "@" + folder_.Path("q.sql");
  for (const char* format : {"table", "csv", "json", "ndjson"}) {
    EXPECT_EQ(Kprofctl({"query", sql, "--format", format, "--timeout", "2s", "--limit", "7"}), 0);
  }
  EXPECT_EQ(results_,
            "n\n5\nn\r\n5\r\n"
            R"({"schema":"kprof.rows.v1","columns":["n"],"rows":[[5]],"truncated":false,"elapsed_ms":0})"
            "\n{\"n\":5}\n");
}

TEST_F(VerbsTest, QuerySaysWhenRowsWereCutOff) {
  daemon_.calls.query = [](const v1::QueryRequest&, FakeStream<v1::QueryResponse> stream) {
    SendOneRow(stream, true);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"query", "q", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr("\"truncated\":true"));
  EXPECT_EQ(notes_, "kprofctl: cut off after 1 rows; --limit allows more\n");
}

TEST_F(VerbsTest, QueryThatIsRefusedPrintsNothing) {
  daemon_.calls.query = [](const v1::QueryRequest&, FakeStream<v1::QueryResponse> stream) {
    v1::QueryResponse message;
    message.mutable_header()->add_columns()->set_name("n");
    stream.write(message);
    return Fail(ErrorCode::kTimedOut, "run the query", "it took longer than 30 s");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"query", "q", "--json"}), 7);
  EXPECT_EQ(results_, "");
}

TEST_F(VerbsTest, QueryEndsQuietlyWhenItsReaderGoes) {
  std::signal(SIGPIPE, SIG_IGN);
  std::atomic<bool> ended = false;
  daemon_.calls.query = [&](const v1::QueryRequest&, FakeStream<v1::QueryResponse> stream) {
    v1::QueryResponse message;
    message.mutable_header()->add_columns()->set_name("n");
    stream.write(message);
    message.mutable_batch()->set_rows(1000);
    v1::ColumnData& column = *message.mutable_batch()->add_columns();
    for (int i = 0; i < 1000; ++i) {
      column.add_kinds(v1::ColumnData::KIND_INTEGER);
      column.add_integers(i);
    }
    while (stream.write(message)) {
    }
    ended = true;
    return OkStatus();
  };
  daemon_.Start();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  UniqueFd results(ends[1]);
  UniqueFd notes(::memfd_create("notes", MFD_CLOEXEC));
  Output output(results.get(), notes.get());
  EXPECT_EQ(RunKprofctl({"--socket", daemon_.socket_path(), "query", "q", "--format", "csv"}, output), 0);
  EXPECT_EQ(::lseek(notes.get(), 0, SEEK_END), 0);
  daemon_.Stop();
  EXPECT_TRUE(ended);
}

TEST_F(VerbsTest, BackupIsChecked) {
  std::string claimed = Sha256Of(std::string("catalog"));
  daemon_.calls.back_up_catalog = [&](const v1::BackUpCatalogRequest&, FakeStream<v1::BackUpCatalogResponse> stream) {
    v1::BackUpCatalogResponse response;
    response.set_data("cata");
    stream.write(response);
    response.set_data("log");
    stream.write(response);
    response.set_sha256(claimed);
    stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"backup", folder_.Path("copy.db")}), 0);
  EXPECT_EQ(folder_.Get("copy.db"), "catalog");
  claimed = "wrong";
  EXPECT_EQ(Kprofctl({"backup", folder_.Path("other.db")}), 1);
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("other.db")));
}

TEST_F(VerbsTest, CompletionAndVersionNeedNoDaemon) {
  EXPECT_EQ(Kprofctl({"completion", "bash"}), 0);
  EXPECT_THAT(results_, HasSubstr("complete -o default -F _kprofctl kprofctl"));
  EXPECT_EQ(Kprofctl({"--version"}), 0);
}

}  // namespace
}  // namespace kprof::cli
