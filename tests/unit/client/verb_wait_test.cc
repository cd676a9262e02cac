#include <unistd.h>

#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;

class VerbWaitTest : public VerbsFixture {};

TEST_F(VerbWaitTest, InterruptedWaitLeavesTheRunAlone) {
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

TEST_F(VerbWaitTest, WaitExitsAsTheRunEnded) {
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

TEST_F(VerbWaitTest, WaitFailsInItsOwnWordsWhenTheRunIsLostInTheMiddle) {
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

TEST_F(VerbWaitTest, WaitFailsInItsOwnWordsWhenTheDaemonStaysAway) {
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

}  // namespace
}  // namespace kprof::cli
