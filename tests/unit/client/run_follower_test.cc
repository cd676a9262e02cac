#include "client/cpp/followers.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "tests/fakes/rpc/fake_daemon.h"
#include "tests/unit/client/scratch_folder.h"

namespace kprof {
namespace {

v1::WatchRunResponse In(v1::RunState state) {
  v1::WatchRunResponse response;
  response.mutable_run()->set_id("01jd");
  response.mutable_run()->set_state(state);
  return response;
}

void WaitUntilGone(const FakeStream<v1::WatchRunResponse>& stream) {
  while (!stream.gone()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

class RunFollowerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kUnderThreadSanitizer) GTEST_SKIP() << "gRPC is not instrumented";
  }

  RunFollower::Connect Connect() {
    return [this] { return KprofClient::Connect(daemon_.socket_path()); };
  }

  // The next news that `wanted` likes; fails the test after a while.
  template <typename Wanted>
  RunFollower::News Until(RunFollower& follower, const Wanted& wanted) {
    while (true) {
      pollfd wait = {follower.fd(), POLLIN, 0};
      if (::poll(&wait, 1, 20'000) != 1) {
        ADD_FAILURE() << "no news";
        return {};
      }
      RunFollower::News news = follower.Take();
      if (wanted(news)) return news;
    }
  }

  cli::ScratchFolder folder_;
  FakeDaemon daemon_{folder_.Path("s")};
};

bool HasEnd(const RunFollower::News& news) {
  return news.end.has_value();
}

TEST_F(RunFollowerTest, TellsTheLastStateAndTheEnd) {
  daemon_.calls.watch_run = [](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    EXPECT_EQ(request.id(), "01jd");
    EXPECT_TRUE(request.hold());
    stream.write(In(v1::RUN_STATE_RUNNING));
    stream.write(In(v1::RUN_STATE_DONE));
    return OkStatus();
  };
  daemon_.Start();
  RunFollower follower(Connect(), "01jd", {.hold = true});
  std::optional<v1::WatchRunResponse> last;
  RunFollower::News news = Until(follower, [&](const RunFollower::News& now) {
    if (now.update) last = now.update;
    return HasEnd(now);
  });
  EXPECT_TRUE(news.end->ok());
  ASSERT_TRUE(last);
  EXPECT_EQ(last->run().state(), v1::RUN_STATE_DONE);
}

TEST_F(RunFollowerTest, KeepsTheCommandThatTheFirstMessageAloneHas) {
  daemon_.calls.watch_run = [](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    v1::WatchRunResponse first = In(v1::RUN_STATE_RUNNING);
    first.mutable_run()->add_argv("make");
    first.mutable_run()->add_environment()->set_name("USER");
    stream.write(first);
    stream.write(In(v1::RUN_STATE_DONE));
    return OkStatus();
  };
  daemon_.Start();
  RunFollower follower(Connect(), "01jd", {});
  std::optional<v1::WatchRunResponse> last;
  Until(follower, [&](const RunFollower::News& now) {
    if (now.update) last = now.update;
    return HasEnd(now);
  });
  ASSERT_TRUE(last);
  EXPECT_EQ(last->run().state(), v1::RUN_STATE_DONE);
  ASSERT_EQ(last->run().argv_size(), 1);
  EXPECT_EQ(last->run().argv(0), "make");
  EXPECT_EQ(last->run().environment(0).name(), "USER");
}

TEST_F(RunFollowerTest, GoesOnWhenTheDaemonComesBack) {
  std::atomic<int> streams = 0;
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    if (++streams == 1) {
      stream.write(In(v1::RUN_STATE_RUNNING));
      WaitUntilGone(stream);
      return OkStatus();
    }
    stream.write(In(v1::RUN_STATE_FAILED));
    return OkStatus();
  };
  daemon_.Start();
  RunFollower follower(Connect(), "01jd", {.hold = true});
  Until(follower, [](const RunFollower::News& news) { return news.update.has_value(); });
  daemon_.Stop();
  Until(follower, [](const RunFollower::News& news) { return news.disconnected; });
  daemon_.Start();
  RunFollower::News news = Until(follower, HasEnd);
  EXPECT_TRUE(news.end->ok());
  EXPECT_FALSE(news.disconnected);
  EXPECT_EQ(streams, 2);
}

TEST_F(RunFollowerTest, GivesUpWhenTheDaemonStaysAway) {
  RunFollower follower(Connect(), "01jd", {.hold = false, .reconnect_ms = 150});
  RunFollower::News news = Until(follower, HasEnd);
  EXPECT_EQ(news.end->code(), ErrorCode::kLostDaemon);
}

TEST_F(RunFollowerTest, EndsWithWhatTheDaemonRefuses) {
  daemon_.calls.watch_run = [](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse>) {
    return Fail(ErrorCode::kNotFound, "follow run 01jd", "there is none");
  };
  daemon_.Start();
  RunFollower follower(Connect(), "01jd", {.hold = false});
  EXPECT_EQ(Until(follower, HasEnd).end->code(), ErrorCode::kNotFound);
}

TEST_F(RunFollowerTest, LeavesWhileTheRunGoesOn) {
  std::atomic<bool> gone = false;
  daemon_.calls.watch_run = [&](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
    stream.write(In(v1::RUN_STATE_RUNNING));
    WaitUntilGone(stream);
    gone = true;
    return OkStatus();
  };
  daemon_.Start();
  {
    RunFollower follower(Connect(), "01jd", {.hold = true});
    Until(follower, [](const RunFollower::News& news) { return news.update.has_value(); });
  }
  daemon_.Stop();
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace kprof
