#include "daemon/base/worker_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <set>

#include "tests/fakes/base/no_more_threads.h"

namespace kprof {
namespace {

TEST(WorkerPool, RunsJobsOnItsThreads) {
  WorkerPool pool({.threads = 2});
  std::latch both(2);
  std::thread::id first;
  std::thread::id second;
  // Each waits for the other: they can only end on two threads.
  ASSERT_TRUE(pool.Submit([&] {
                    first = std::this_thread::get_id();
                    both.arrive_and_wait();
                  })
                  .ok());
  ASSERT_TRUE(pool.Submit([&] {
                    second = std::this_thread::get_id();
                    both.arrive_and_wait();
                  })
                  .ok());
  both.wait();
  EXPECT_NE(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(WorkerPool, RefusesAJobWhenTheQueueIsFull) {
  WorkerPool pool({.threads = 1, .queue_limit_jobs = 2});
  std::latch begun(1);
  std::latch go_on(1);
  ASSERT_TRUE(pool.Submit([&] {
                    begun.count_down();
                    go_on.wait();
                  })
                  .ok());
  begun.wait();
  EXPECT_TRUE(pool.Submit([] {}).ok());
  EXPECT_TRUE(pool.Submit([] {}).ok());
  Status refused = pool.Submit([] {});
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  go_on.count_down();
}

TEST(WorkerPool, RunsWhatIsQueuedBeforeItIsDestroyed) {
  std::atomic<int> done = 0;
  {
    WorkerPool pool({.threads = 1});
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.Submit([&] { ++done; }).ok());
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkerPool, RunsAJobInsideSubmitWhenItHasNoThreads) {
  WorkerPool pool({.threads = 0});
  std::thread::id thread;
  ASSERT_TRUE(pool.Submit([&] { thread = std::this_thread::get_id(); }).ok());
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST(WorkerPool, DestroysAJobRightAfterItHasRun) {
  WorkerPool pool({.threads = 1});
  struct Token {
    explicit Token(std::latch& gone) : gone(gone) {}
    ~Token() { gone.count_down(); }
    std::latch& gone;
  };
  std::latch gone(1);
  auto token = std::make_shared<Token>(gone);
  ASSERT_TRUE(pool.Submit([token = std::move(token)] {}).ok());
  gone.wait();  // no other job has to come for that
}

int NicenessOfAWorker(int niceness) {
  std::promise<int> its;
  WorkerPool pool({.threads = 1, .queue_limit_jobs = 10, .niceness = niceness});
  EXPECT_TRUE(pool.Submit([&] { its.set_value(::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()))); }).ok());
  return its.get_future().get();
}

TEST(WorkerPool, StandsBackAsFarAsItIsTold) {
  const int ours = ::getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(NicenessOfAWorker(0), ours);
  EXPECT_EQ(NicenessOfAWorker(3), std::min(19, ours + 3));
}

// In a process of its own: only root can take niceness back. Its exit code says which case is wrong.
TEST(WorkerPool, StandsBackForTheRestOfAProcessThatIsNicedToo) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const int ours = ::getpriority(PRIO_PROCESS, 0);
  if (ours > 9) GTEST_SKIP() << "these tests run at niceness " << ours << ": there is no room behind them";
  EXPECT_EXIT(
      {
        ::setpriority(PRIO_PROCESS, 0, ours + 7);
        if (NicenessOfAWorker(0) != ours + 7) ::_exit(1);
        if (NicenessOfAWorker(3) != ours + 10) ::_exit(2);  // also where it is root, who may go before
        if (NicenessOfAWorker(40) != 19) ::_exit(3);
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(WorkerPool, RefusesAJobWhereNoThreadCanBeStartedAndTriesAgainWithTheNext) {
  std::optional<NoMoreThreads> none(std::in_place);
  WorkerPool pool({.threads = 2});
  std::atomic<int> done = 0;
  const Status refused = pool.Submit([&] { ++done; });
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  EXPECT_EQ(refused.why(), "no thread can be started");
  EXPECT_NE(refused.remedy(), "");
  none.reset();
  EXPECT_TRUE(pool.Submit([&] { done += 10; }).ok());
  pool.End();
  EXPECT_EQ(done, 10);
}

TEST(WorkerPool, TheThreadsThatItHasDoTheWorkWhereNoFurtherOneCanBeStarted) {
  WorkerPool pool({.threads = 2});
  std::latch begun(1);
  std::latch go_on(1);
  std::atomic<int> done = 0;
  ASSERT_TRUE(pool.Submit([&] {
                    begun.count_down();
                    go_on.wait();
                  })
                  .ok());
  begun.wait();
  {
    const NoMoreThreads none;
    EXPECT_TRUE(pool.Submit([&] { ++done; }).ok());
  }
  go_on.count_down();
  pool.End();
  EXPECT_EQ(done, 1);
}

TEST(WorkerPool, RefusesWhatComesWhenItHasEnded) {
  for (const size_t threads : {0, 2}) {
    WorkerPool pool({.threads = threads, .queue_limit_jobs = 10});
    std::atomic<int> done = 0;
    ASSERT_TRUE(pool.Submit([&] { ++done; }).ok());
    pool.End();
    EXPECT_EQ(done, 1);
    EXPECT_EQ(pool.Submit([&] { ++done; }).code(), ErrorCode::kNoDaemon);
    pool.End();
    EXPECT_EQ(done, 1);
  }
}

}  // namespace
}  // namespace kprof
