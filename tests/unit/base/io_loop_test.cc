#include "daemon/base/io_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

class IoLoopTest : public testing::Test {
 protected:
  auto Note(std::string word) {
    return [this, word = std::move(word)] { seen_ += word; };
  }

  FakeClock clock_;
  IoLoop loop_{clock_};
  std::string seen_;
};

TEST_F(IoLoopTest, RunsTasksInTheOrderOfPost) {
  for (const char* word : {"a", "b", "c"}) loop_.Post(Note(word));
  EXPECT_EQ(seen_, "");
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "abc");
  EXPECT_EQ(loop_.tasks_run(), 3);
}

TEST_F(IoLoopTest, RunsWhatATaskPostsAfterTheTaskNotInside) {
  loop_.Post([&] {
    loop_.Post(Note("inner"));
    seen_ += "outer,";
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "outer,inner");
}

TEST_F(IoLoopTest, CallsTimersInOrderOfTimeThenOfAfter) {
  auto late = loop_.After(30, Note("late"));
  auto first = loop_.After(10, Note("first,"));
  auto second = loop_.After(10, Note("second,"));
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "");
  clock_.Advance(9);
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "");
  clock_.Advance(1);
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "first,second,");
  clock_.Advance(100);
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "first,second,late");
}

TEST_F(IoLoopTest, NeverCallsATimerInsideAfter) {
  auto timer = loop_.After(-5, Note("x"));
  EXPECT_EQ(seen_, "");
  EXPECT_TRUE(timer.pending());
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "x");
  EXPECT_FALSE(timer.pending());
}

TEST_F(IoLoopTest, DoesNotCallACancelledTimer) {
  auto kept = loop_.After(10, Note("kept"));
  auto cancelled = loop_.After(10, Note("cancelled"));
  { auto destroyed = loop_.After(10, Note("destroyed")); }
  auto replaced = loop_.After(10, Note("replaced"));
  replaced = IoLoop::Timer();
  cancelled.Cancel();
  EXPECT_FALSE(cancelled.pending());
  clock_.Advance(10);
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "kept");
}

TEST_F(IoLoopTest, LetsATaskCancelATimerThatIsDueAtTheSameMoment) {
  IoLoop::Timer second;
  auto first = loop_.After(10, [&] {
    seen_ += "first";
    second.Cancel();
  });
  second = loop_.After(10, Note("second"));
  clock_.Advance(10);
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "first");
}

TEST_F(IoLoopTest, LetsATimerDestroyItselfInItsOwnCall) {
  std::optional<IoLoop::Timer> timer;
  timer = loop_.After(1, [&] {
    timer.reset();
    seen_ += "x";
  });
  clock_.Advance(1);
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "x");
}

TEST_F(IoLoopTest, ATimerThatSetsItselfAgainAtOnceDoesNotStarveOthers) {
  int rounds = 0;
  IoLoop::Timer timer;
  std::function<void()> again = [&] {
    if (++rounds == 1000) return;
    if (rounds == 1) loop_.Post([&] { seen_ += "posted at round " + std::to_string(rounds); });
    timer = loop_.After(0, again);
  };
  again();
  loop_.RunUntilIdle();
  EXPECT_EQ(rounds, 1000);
  EXPECT_EQ(seen_, "posted at round 1");
}

TEST_F(IoLoopTest, RunUntilIdleFollowsWhatTimersBring) {
  auto timer = loop_.After(1, [&] { loop_.Post(Note("posted by a timer")); });
  clock_.Advance(1);
  loop_.RunUntilIdle();
  EXPECT_EQ(seen_, "posted by a timer");
}

TEST_F(IoLoopTest, KnowsItsThreadWhileItRuns) {
  bool inside = false;
  bool elsewhere = true;
  loop_.Post([&] {
    inside = loop_.OnLoopThread();
    std::thread([&] { elsewhere = loop_.OnLoopThread(); }).join();
  });
  std::thread([&] { loop_.RunUntilIdle(); }).join();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(elsewhere);
  EXPECT_TRUE(loop_.OnLoopThread());  // nothing runs: whoever takes the parts down may
}

TEST_F(IoLoopTest, DestroysTasksThatNeverRan) {
  auto alive = std::make_shared<int>(1);
  {
    IoLoop loop(clock_);
    loop.Post([alive] {});
    loop.Stop();
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(IoLoopTest, SurvivesPendingHandlersThatOwnTimers) {
  namespace local = boost::asio::local;
  auto loop = std::make_unique<IoLoop>(clock_);
  auto ours = std::make_shared<local::stream_protocol::socket>(loop->context());
  local::stream_protocol::socket theirs(loop->context());
  local::connect_pair(*ours, theirs);
  auto timer = std::make_shared<IoLoop::Timer>(loop->After(kNanosPerSecond, [] {}));
  ours->async_wait(local::stream_protocol::socket::wait_read, [ours, timer](const boost::system::error_code&) {});
  loop->Post([timer] {});
  ours.reset();
  timer.reset();
  theirs.close();
  loop.reset();
}

TEST(IoLoopWithTheRealClock, WakesForTimersAndPostsUntilStop) {
  RealClock clock;
  IoLoop loop(clock);
  std::atomic<int> count = 0;
  IoLoop::Timer timer;
  loop.Post([&] {
    timer = loop.After(kNanosPerMilli, [&] {
      ++count;
      loop.Stop();
    });
  });
  std::thread poster([&] { loop.Post([&] { ++count; }); });
  loop.Run();
  poster.join();
  EXPECT_GE(count, 1);
}

TEST(IoLoopWithTheRealClock, TakesPostsFromManyThreads) {
  RealClock clock;
  IoLoop loop(clock);
  constexpr int kThreads = 4;
  constexpr int kPosts = 1000;
  int seen = 0;  // loop thread only
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kPosts; ++n) {
        loop.Post([&] {
          if (++seen == kThreads * kPosts) loop.Stop();
        });
      }
    });
  }
  loop.Run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, kThreads * kPosts);
}

}  // namespace
}  // namespace kprof
