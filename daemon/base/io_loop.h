// The one thread that owns all changing state: runs, children, timers. Everything else posts to it.
// Knows nothing of what it runs. A task must not block (1 ms is long): files, SQL and parsing belong to workers.
//
// Post and OnLoopThread: any thread. After and Timer: loop thread only. Tasks run in the order of Post, never inside
// Post. With a fake clock, RunUntilIdle makes the loop deterministic: it runs what is ready and what is due, and
// returns. While nothing runs it, any one thread may stand in for the loop thread: to build the parts, and to take them
// down.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "storage/base/clock.h"
#include "storage/base/status.h"

namespace boost::asio {
class io_context;
}

namespace kprof {

class IoLoop {
 public:
  explicit IoLoop(const Clock& clock);
  ~IoLoop();
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  // Calls task on the loop thread, later. Tasks posted after Stop are destroyed unrun with the loop.
  void Post(std::function<void()> task);

  // A pending call; destroying or cancelling it before it is due makes it never happen.
  class Timer {
   public:
    Timer() = default;
    Timer(Timer&& other) noexcept;
    Timer& operator=(Timer&& other) noexcept;
    ~Timer() { Cancel(); }
    void Cancel();
    bool pending() const { return loop_ != nullptr && *key_ >= 0; }

   private:
    friend class IoLoop;
    Timer(IoLoop& loop, std::shared_ptr<int64_t> key) : loop_(&loop), key_(std::move(key)) {}
    IoLoop* loop_ = nullptr;
    std::shared_ptr<int64_t> key_;  // shared with the loop's entry, which clears it when the call is made
  };
  // In order of due time, then of After. One that is due already is called from the loop, never from inside After.
  // A Timer must not outlive the loop.
  [[nodiscard]] Timer After(int64_t delay_ns, std::function<void()> task);

  // Runs on the calling thread, which is the loop thread until it returns, after Stop. Stop: any thread; for good.
  void Run();
  void Stop();

  // Runs all tasks that are ready, all timers that are due by the clock, and all tasks and timers that these add; then
  // returns. The caller is the loop thread meanwhile.
  void RunUntilIdle();

  bool OnLoopThread() const;

  // The clock of the timers. Any thread.
  const Clock& clock() const;

  // Tasks run so far: a sign of life. Any thread.
  int64_t tasks_run() const;

  // For rooms that wait on descriptors (process/, rpc/).
  boost::asio::io_context& context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Asserts confinement: the caller is on the loop thread.
#define KPROF_ON_IO_LOOP(loop) KPROF_CHECK((loop).OnLoopThread())

}  // namespace kprof
