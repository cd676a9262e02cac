#include "daemon/base/worker_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

TEST(DetachedWork, IsDoneElsewhereAndAnsweredOnTheLoop) {
  FakeClock clock;
  IoLoop loop(clock);
  DetachedWork work(loop);
  std::optional<std::thread::id> worked;
  bool answered = false;
  ASSERT_TRUE(work.Run([&worked, &answered]() -> std::function<void()> {
                    const std::thread::id here = std::this_thread::get_id();
                    return [&worked, &answered, here] {
                      worked = here;
                      answered = true;
                    };
                  })
                  .ok());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!answered && std::chrono::steady_clock::now() < end) loop.RunUntilIdle();
  ASSERT_TRUE(answered);
  EXPECT_NE(*worked, std::this_thread::get_id());
}

TEST(DetachedWork, IsNotWaitedForAndAnswersNobodyWhoIsGone) {
  FakeClock clock;
  std::promise<void> let_go;
  std::promise<void> over;
  auto answered = std::make_shared<bool>(false);
  {
    IoLoop loop(clock);
    DetachedWork work(loop);
    ASSERT_TRUE(work.Run([going = let_go.get_future().share(), &over, answered]() -> std::function<void()> {
                      going.wait();
                      // Gone with the answer, which nobody takes.
                      auto gone = std::shared_ptr<void>(nullptr, [&over](void*) { over.set_value(); });
                      return [answered, gone = std::move(gone)] { *answered = true; };
                    })
                    .ok());
  }
  let_go.set_value();
  ASSERT_EQ(over.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_FALSE(*answered);
}

}  // namespace
}  // namespace kprof
