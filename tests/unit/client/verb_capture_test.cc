#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "storage/base/descriptors.h"
#include "tests/unit/client/sample_run.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class VerbCaptureTest : public VerbsFixture {
 protected:
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

  // Takes the wish to cancel the run; `cancelled` becomes true.
  void AnswerCancels(std::atomic<bool>& cancelled) {
    daemon_.calls.cancel_run = [&cancelled](const v1::CancelRunRequest& request, v1::CancelRunResponse&) {
      EXPECT_EQ(request.id(), "01jd");
      cancelled = true;
      return OkStatus();
    };
  }

  // A capture whose launch is offered, while nobody is at the side socket; when kprofctl says so, the run is `ended`.
  void OfferInVain(const v1::Run& ended) {
    AnswerCaptures(ended);
    daemon_.calls.cancel_run = [this](const v1::CancelRunRequest& request, v1::CancelRunResponse&) {
      why_not_started_ = request.launch_failure();
      cancelled_ = true;
      return OkStatus();
    };
    daemon_.calls.watch_run = [this, ended](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
      v1::WatchRunResponse offer = Watched(RunIn(v1::RUN_STATE_PREPARING));
      offer.set_launch_offered(true);
      stream.write(offer);
      WaitUntil([&] { return cancelled_.load(); });
      stream.write(Watched(ended));
      return OkStatus();
    };
  }

  std::vector<v1::SubmitRunRequest> submitted_;
  std::string why_not_started_;
  std::atomic<bool> cancelled_ = false;
};

TEST_F(VerbCaptureTest, CaptureSendsTheCallersWorld) {
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
  EXPECT_EQ(results_, "");
  EXPECT_THAT(notes_, StartsWith("run         01jd\nstate       done, exit 0\n"));
}

TEST_F(VerbCaptureTest, CaptureWithJsonPrintsExactlyOneObject) {
  AnswerCaptures(SampleRun());
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--json", "--", "true"}), 7);
  EXPECT_THAT(results_, StartsWith(R"({"schema":"kprof.run.v1","id":"01jd)"));
  EXPECT_EQ(std::count(results_.begin(), results_.end(), '\n'), 1);
  EXPECT_THAT(notes_, HasSubstr("run 01jd0000000000000000000000 failed: the command exited with 3\n"));
  EXPECT_THAT(notes_, HasSubstr(R"("code":"command_failed")"));
}

TEST_F(VerbCaptureTest, CaptureDetachedPrintsOnlyTheId) {
  AnswerCaptures(Done());
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--detach", "--", "true"}), 0);
  EXPECT_EQ(results_, "01jd\n");
  EXPECT_FALSE(submitted_.at(0).spec().attached());
}

// The run has printed: "out" in two pieces, one of them behind a gap, and "err", without an end of line.
class PassedOutputTest : public VerbCaptureTest {
 protected:
  void AnswerPrinting(v1::Run ended) {
    ended.set_stdout_bytes(9);
    AnswerCaptures(ended);
    daemon_.calls.read_log = [](const v1::ReadLogRequest& request, FakeStream<v1::ReadLogResponse> stream) {
      EXPECT_TRUE(request.follow());
      v1::ReadLogResponse piece;
      const bool is_stdout = request.stream() == v1::OUTPUT_STREAM_STDOUT;
      piece.set_data(is_stdout ? "o\x1b" : "err");
      stream.write(piece);
      if (!is_stdout) return OkStatus();
      piece.set_data("ut");
      piece.set_dropped_bytes(5);
      stream.write(piece);
      return OkStatus();
    };
    daemon_.Start();
  }
};

TEST_F(PassedOutputTest, EachStreamGoesToItsPlaceAndTheReportBehindIt) {
  AnswerPrinting(Done());
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 0);
  EXPECT_EQ(results_, "o\x1but");
  EXPECT_THAT(notes_, StartsWith("err\nkprofctl: 5 B of what it printed were passed over"));
  EXPECT_THAT(notes_, HasSubstr("\nrun         01jd\n"));
}

TEST_F(PassedOutputTest, JsonHasStandardOutputForItself) {
  AnswerPrinting(Done());
  EXPECT_EQ(Kprofctl({"--json", "capture", "command", "--", "true"}), 0);
  EXPECT_THAT(results_, StartsWith(R"({"schema":"kprof.run.v1")"));
  EXPECT_THAT(notes_, AllOf(HasSubstr("err"), HasSubstr("o\x1b"), Not(HasSubstr("state "))));
}

TEST_F(PassedOutputTest, QuietShowsTheReportAlone) {
  AnswerPrinting(Done());
  EXPECT_EQ(Kprofctl({"capture", "command", "--quiet", "--", "true"}), 0);
  EXPECT_THAT(results_, StartsWith("run         01jd\n"));
  EXPECT_EQ(notes_, "");
}

TEST_F(VerbCaptureTest, ALogThatCannotBeReadIsSaid) {
  v1::Run run = Done();
  run.set_stdout_bytes(1);
  AnswerCaptures(run);
  daemon_.calls.read_log = [](const v1::ReadLogRequest&, FakeStream<v1::ReadLogResponse>) {
    return Fail(ErrorCode::kQueueFull, "read log", "too many read logs", "try again");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 0);
  EXPECT_THAT(notes_, HasSubstr("too many read logs; try again; kprofctl logs 01jd has what is kept\n"));
}

TEST_F(VerbCaptureTest, AToolThatIsNotThereIsToldBeforeAnythingIsSubmitted) {
  AnswerCaptures(Done());
  daemon_.calls.list_tools = [](const v1::ListToolsRequest&, v1::ListToolsResponse& response) {
    response.add_tools()->set_name("event");
    response.mutable_tools(0)->set_summary("times regions");
    response.mutable_tools(0)->add_options()->set_name("samples");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "evnt", "--", "true"}), 2);
  EXPECT_THAT(notes_, HasSubstr("there is no tool 'evnt'; did you mean 'event'? use one of: event\n"));
  EXPECT_EQ(Kprofctl({"capture", "evnt", "--help"}), 2);
  EXPECT_TRUE(submitted_.empty());
  EXPECT_EQ(results_, "");
  EXPECT_EQ(Kprofctl({"help", "capture", "event"}), 0);
  EXPECT_THAT(results_, HasSubstr("\nTool event: times regions\n  --samples VALUE"));
}

struct End {
  const char* code;
  int exit_status;
};

TEST_F(VerbCaptureTest, CaptureExitsAsTheRunEnded) {
  for (const End& end :
       {End{"command_failed", 7}, End{"timed_out", 7}, End{"queue_timeout", 6}, End{"cancelled", 8},
        End{"lost_daemon", 11}, End{"storage_full", 12}, End{"spawn_failed", 7}, End{"bad_input", 10}}) {
    AnswerCaptures(Failed(end.code));
    daemon_.Start();
    EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), end.exit_status) << end.code;
    daemon_.Stop();
  }
}

TEST_F(VerbCaptureTest, CaptureShowsTheEndOfTheErrorOutputOfWhatFailed) {
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
  EXPECT_EQ(Kprofctl({"capture", "command", "--quiet", "--", "true"}), 7);
  EXPECT_THAT(notes_, HasSubstr("(all of it: kprofctl logs 01jd --stderr):\n  | line 3\\x1b[2J\n"));
  EXPECT_THAT(notes_, HasSubstr("  | line 12\\x1b[2J\nkprofctl: run 01jd failed: because\n"));
  EXPECT_THAT(notes_, Not(HasSubstr("line 2\\")));
}

TEST_F(VerbCaptureTest, CaptureSaysOnceThatItIsQueued) {
  AnswerCaptures(Done());
  daemon_.calls.watch_run = [this](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_QUEUED), 3));
    WaitUntil([&] { return !captured_.Notes().empty(); });
    stream.write(Watched(RunIn(v1::RUN_STATE_QUEUED), 2));
    stream.write(Watched(Done()));
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--quiet", "--", "true"}), 0);
  EXPECT_EQ(notes_, "kprofctl: run 01jd is queued, 2 before it\n");
}

TEST_F(VerbCaptureTest, WhoIsNextIsToldForWhom) {
  AnswerCaptures(Done());
  daemon_.calls.watch_run = [this](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_QUEUED), 1));
    WaitUntil([&] { return !captured_.Notes().empty(); });
    stream.write(Watched(Done()));
    return OkStatus();
  };
  daemon_.calls.list_devices = [](const v1::ListDevicesRequest&, v1::ListDevicesResponse& response) {
    v1::Device& device = *response.add_devices();
    device.set_id("cpu");
    device.set_held_since_unix_ns(1);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--quiet", "--", "true"}), 0);
  EXPECT_EQ(notes_, "kprofctl: run 01jd is queued, next; it waits for device cpu, which somebody else holds\n");
}

TEST_F(VerbCaptureTest, WhatItCannotStartEndsAndSaysWhy) {
  OfferInVain(Failed("spawn_failed"));
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 7);
  EXPECT_THAT(why_not_started_, HasSubstr("take the launch of run 01jd"));
  EXPECT_THAT(notes_, HasSubstr("state       failed"));
}

TEST_F(VerbCaptureTest, WhatIsCancelledJustAsItsTurnComesIsCancelled) {
  OfferInVain(Failed("cancelled"));
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 8);
  EXPECT_THAT(notes_, HasSubstr("state       cancelled"));
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

TEST_F(VerbCaptureTest, CaptureShowsProgressOnATerminalAndTakesItAway) {
  ::setenv("TERM", "xterm", 1);
  FakeTerminal terminal;
  AnswerCaptures(Done());
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_QUEUED), 3));
    WaitUntil([&] { return !terminal.Shown().empty(); });
    stream.write(Watched(Done()));
    return OkStatus();
  };
  daemon_.Start();
  UniqueFd results(::memfd_create("results", MFD_CLOEXEC));
  Output output(results.get(), terminal.fd());
  EXPECT_EQ(RunKprofctl({"--socket", daemon_.socket_path(), "capture", "command", "--quiet", "--", "true"}, output), 0);
  daemon_.Stop();
  EXPECT_THAT(terminal.Shown(), StartsWith("\r01jd  queued 0s, 2 before it\x1b[K"));
  EXPECT_THAT(terminal.Shown(), EndsWith("\r\x1b[K"));
}

TEST_F(VerbCaptureTest, CaptureGoesOnAfterARestartOfTheDaemon) {
  AnswerCaptures(Done());
  std::atomic<int> streams = 0;
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    EXPECT_TRUE(request.hold());
    if (++streams == 1) {
      stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
      WaitUntil(stream.gone);
      return OkStatus();
    }
    stream.write(Watched(Failed("lost_daemon")));
    return OkStatus();
  };
  daemon_.Start();
  std::thread restart([&] {
    WaitUntil([&] { return streams > 0; });
    daemon_.Stop();
    daemon_.Start();
  });
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 11);
  restart.join();
  EXPECT_EQ(submitted_.size(), 1u);
  EXPECT_THAT(notes_, HasSubstr("run 01jd failed: because"));
}

TEST_F(VerbCaptureTest, ALogThatWasQuietForLongIsReadOnAfterARestart) {
  AnswerCaptures(Done());
  std::atomic<int> watches = 0;
  std::atomic<int> logs = 0;
  std::atomic<bool> was_away = false;
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    if (++watches == 1) {
      stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
      WaitUntil(stream.gone);
      return OkStatus();
    }
    v1::Run run = Done();
    run.set_stdout_bytes(4);
    stream.write(Watched(run));
    return OkStatus();
  };
  daemon_.calls.read_log = [&](const v1::ReadLogRequest& request, FakeStream<v1::ReadLogResponse> stream) {
    ++logs;
    if (!was_away) {
      WaitUntil(stream.gone);
      return OkStatus();
    }
    v1::ReadLogResponse piece;
    piece.set_data("late");
    if (request.stream() == v1::OUTPUT_STREAM_STDOUT) stream.write(piece);
    return OkStatus();
  };
  daemon_.Start();
  std::thread restart([&] {
    WaitUntil([&] { return logs == 2; });
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // longer than a daemon that is away is tried
    daemon_.Stop();
    was_away = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it is tried in vain
    daemon_.Start();
  });
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 0);
  restart.join();
  EXPECT_EQ(results_, "late");
  EXPECT_THAT(notes_, Not(HasSubstr("has what is kept")));
}

TEST_F(PassedOutputTest, ARunWhoseLogNobodyReadsAnyMoreIsCancelled) {
  std::signal(SIGPIPE, SIG_IGN);
  std::atomic<bool> cancelled = false;
  AnswerCaptures(Done());
  AnswerCancels(cancelled);
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
    WaitUntil([&] { return cancelled || stream.gone(); });
    stream.write(Watched(Failed("cancelled")));
    return OkStatus();
  };
  daemon_.calls.read_log = [&](const v1::ReadLogRequest& request, FakeStream<v1::ReadLogResponse> stream) {
    v1::ReadLogResponse piece;
    piece.set_data("y\n");
    while (request.stream() == v1::OUTPUT_STREAM_STDOUT && !cancelled && !stream.gone()) stream.write(piece);
    return OkStatus();
  };
  daemon_.Start();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd notes(::memfd_create("notes", MFD_CLOEXEC));
  ::close(ends[0]);
  Output output(ends[1], notes.get());
  EXPECT_EQ(RunKprofctl({"--socket", daemon_.socket_path(), "capture", "command", "--", "yes"}, output), 8);
  ::close(ends[1]);
  EXPECT_TRUE(cancelled);
}

TEST_F(VerbCaptureTest, CaptureReportsADaemonThatStaysAway) {
  AnswerCaptures(Done());
  std::atomic<bool> watched = false;
  WatchUntilGone(watched);
  daemon_.Start();
  std::jthread stop = StopOnce(watched);
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 11);
  EXPECT_THAT(notes_, HasSubstr("the connection to kprofd is lost; trying again\n"));
  EXPECT_THAT(notes_, HasSubstr("did not come back within 2000 ms"));
}

TEST_F(VerbCaptureTest, CaptureSubmitsAgainWithTheSameKeyWhenTheAnswerWasLost) {
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

TEST_F(VerbCaptureTest, InterruptedCaptureCancelsTheRunAndWaitsForItsEnd) {
  AnswerCaptures(Done());
  std::atomic<bool> cancelled = false;
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
    ::kill(::getpid(), SIGINT);
    WaitUntil([&] { return cancelled || stream.gone(); });
    stream.write(Watched(Failed("cancelled")));
    return OkStatus();
  };
  AnswerCancels(cancelled);
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 8);
  EXPECT_TRUE(cancelled);
  EXPECT_THAT(notes_, StartsWith("kprofctl: cancelling run 01jd; a second Ctrl-C leaves at once\n"));
}

TEST_F(VerbCaptureTest, CaptureInterruptedWhileItSubmitsCancelsTheRun) {
  AnswerCaptures(Done());
  std::atomic<bool> cancelled = false;
  auto answer = daemon_.calls.submit_run;
  daemon_.calls.submit_run = [&, answer](const v1::SubmitRunRequest& request, v1::SubmitRunResponse& response) {
    ::kill(::getpid(), SIGHUP);
    return answer(request, response);
  };
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    WaitUntil([&] { return cancelled || stream.gone(); });
    stream.write(Watched(Failed("cancelled")));
    return OkStatus();
  };
  AnswerCancels(cancelled);
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 8);
  EXPECT_TRUE(cancelled);
}

TEST_F(VerbCaptureTest, CaptureInterruptedWhileTheDaemonIsAwayLeaves) {
  daemon_.calls.submit_run = [](const v1::SubmitRunRequest&, v1::SubmitRunResponse&) {
    ::kill(::getpid(), SIGINT);
    return Fail(ErrorCode::kNoDaemon, "submit", "the answer got lost");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--", "true"}), 8);
  EXPECT_THAT(notes_, StartsWith("kprofctl: submit a run: interrupted while kprofd was away"));
}

}  // namespace
}  // namespace kprof::cli
