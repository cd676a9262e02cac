#include "daemon/base/worker_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

namespace kprof {
namespace {

TEST(WorkerTurns, ServesUsersInTurnsAndEachOnesJobsInTheirOrder) {
  WorkerTurns turns({.threads = 1});
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::string served;  // of one thread
  ASSERT_TRUE(turns.Submit(9, [gone] { gone.wait(); }).ok());
  for (const char* job : {"a1", "a2", "a3"}) ASSERT_TRUE(turns.Submit(1, [&served, job] { served += job; }).ok());
  for (const char* job : {"b1", "b2"}) ASSERT_TRUE(turns.Submit(2, [&served, job] { served += job; }).ok());
  go.set_value();
  turns.End();
  EXPECT_EQ(served, "a1b1a2b2a3");
}

TEST(WorkerTurns, LeavesAThreadForAnotherUser) {
  WorkerTurns turns({.threads = 3});
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> of_one = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(turns
                    .Submit(1,
                            [gone, &of_one] {
                              gone.wait();
                              ++of_one;
                            })
                    .ok());
  }
  std::promise<void> of_other;
  ASSERT_TRUE(turns.Submit(2, [&] { of_other.set_value(); }).ok());
  of_other.get_future().wait();  // while the first two jobs of the other wait
  EXPECT_EQ(of_one, 0);
  go.set_value();
  turns.End();
  EXPECT_EQ(of_one, 10);
}

TEST(WorkerTurns, RefusesWhatDoesNotFitIntoItsQueueAndRunsTheRest) {
  WorkerTurns turns({.threads = 1, .queue_limit_jobs = 2});
  std::promise<void> go;
  std::promise<void> begun;
  ASSERT_TRUE(turns
                  .Submit(1,
                          [&] {
                            begun.set_value();
                            go.get_future().wait();
                          })
                  .ok());
  begun.get_future().wait();
  std::atomic<int> done = 0;
  int taken = 0;
  for (int i = 0; i < 10; ++i) taken += turns.Submit(1, [&] { ++done; }).ok() ? 1 : 0;
  EXPECT_EQ(taken, 2);
  go.set_value();
  turns.End();
  EXPECT_EQ(done, 2);
}

TEST(WorkerTurns, WithoutThreadsAJobRunsInsideSubmit) {
  WorkerTurns turns({.threads = 0});
  bool is_done = false;
  ASSERT_TRUE(turns.Submit(1, [&] { is_done = true; }).ok());
  EXPECT_TRUE(is_done);
}

}  // namespace
}  // namespace kprof
