#include <unistd.h>

#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class VerbWaitTest : public VerbsFixture {};

TEST_F(VerbWaitTest, InterruptedWaitLeavesTheRunAlone) {
  AnswerLookUps(RunIn(v1::RUN_STATE_RUNNING));
  daemon_.calls.watch_run = [](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    EXPECT_FALSE(request.hold());
    stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
    ::kill(::getpid(), SIGTERM);
    WaitUntil(stream.gone);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"wait", "@last"}), 8);
  EXPECT_EQ(notes_, "kprofctl: wait for run 01jd: interrupted\n");
}

TEST_F(VerbWaitTest, WaitExitsAsTheRunEnded) {
  AnswerLookUps(RunIn(v1::RUN_STATE_RUNNING));
  daemon_.calls.watch_run = [](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    EXPECT_EQ(request.id(), "01jd");
    stream.write(Watched(Failed("timed_out")));
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"wait", "@last"}), 7);
  EXPECT_THAT(looked_up_, ElementsAre("@last"));
  EXPECT_EQ(results_, "run 01jd failed after 2.000 s\n");
  EXPECT_EQ(notes_, "kprofctl: run 01jd failed: because\n");
}

TEST_F(VerbWaitTest, WaitFailsInItsOwnWordsWhenTheRunIsLostInTheMiddle) {
  AnswerLookUps(RunIn(v1::RUN_STATE_RUNNING));
  daemon_.calls.watch_run = [](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(Watched(RunIn(v1::RUN_STATE_RUNNING)));
    return Fail(ErrorCode::kNotFound, "watch run 01jd", "there is none", "see 'kprofctl runs'");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"wait", "@last"}), 4);
  EXPECT_EQ(notes_, "kprofctl: wait for run 01jd: there is none; see 'kprofctl runs'\n");
}

TEST_F(VerbWaitTest, WaitFailsInItsOwnWordsWhenTheDaemonStaysAway) {
  AnswerLookUps(RunIn(v1::RUN_STATE_RUNNING));
  std::atomic<bool> watched = false;
  WatchUntilGone(watched);
  daemon_.Start();
  std::jthread stop = StopOnce(watched);
  EXPECT_EQ(Kprofctl({"wait", "@last"}), 11);
  EXPECT_THAT(notes_, HasSubstr("kprofctl: wait for run 01jd: kprofd went away and did not come back within 2000 ms"));
}

}  // namespace
}  // namespace kprof::cli
