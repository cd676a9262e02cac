#include "daemon/base/io_loop.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>

namespace kprof {

namespace asio = boost::asio;

struct IoLoop::State {
  struct Due {
    std::shared_ptr<int64_t> key;
    std::function<void()> task;
  };

  explicit State(const Clock& clock) : clock(clock), context(std::in_place, 1) {
    guard.emplace(asio::make_work_guard(*context));
    alarm.emplace(*context);
  }

  // Handlers that never ran go first: what they own may hold timers, which need the rest of this.
  ~State() {
    alarm.reset();
    guard.reset();
    context.reset();
    std::exchange(timers, {}).clear();
  }

  const Clock& clock;
  std::optional<asio::io_context> context;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard;
  std::atomic<std::thread::id> thread{};
  std::atomic<int64_t> tasks_run{0};

  // Loop thread only. Ordered by due time, then by the order of After.
  std::map<std::pair<int64_t, int64_t>, Due> timers;
  int64_t next_sequence = 0;
  std::optional<asio::steady_timer> alarm;
  int64_t alarm_ns = INT64_MAX;
  bool stepping = false;  // in RunUntilIdle, which goes by the clock alone: a fake one may stand still

  // Those that are due and were there when it began: one that sets itself again at once must not starve the rest.
  // Returns whether there were any.
  bool RunDueTimers() {
    const int64_t end_sequence = next_sequence;
    bool ran = false;
    while (true) {
      auto due = timers.begin();
      while (due != timers.end() && due->first.second >= end_sequence) ++due;
      if (due == timers.end() || due->first.first > clock.mono_ns()) return ran;
      auto entry = timers.extract(due);
      *entry.mapped().key = -1;
      tasks_run.fetch_add(1, std::memory_order_relaxed);
      entry.mapped().task();
      ran = true;
    }
  }

  // Keeps the alarm at the earliest timer.
  void SetAlarm() {
    if (!alarm) return;
    int64_t earliest_ns = timers.empty() || stepping ? INT64_MAX : timers.begin()->first.first;
    if (earliest_ns == alarm_ns) return;
    alarm_ns = earliest_ns;
    if (earliest_ns == INT64_MAX) {
      alarm->cancel();
      return;
    }
    alarm->expires_after(std::chrono::nanoseconds(std::max<int64_t>(0, earliest_ns - clock.mono_ns())));
    alarm->async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      alarm_ns = INT64_MAX;
      RunDueTimers();
      SetAlarm();
    });
  }
};

IoLoop::IoLoop(const Clock& clock) : state_(std::make_unique<State>(clock)) {}
IoLoop::~IoLoop() = default;

void IoLoop::Post(std::function<void()> task) {
  asio::post(*state_->context, [state = state_.get(), task = std::move(task)] {
    state->tasks_run.fetch_add(1, std::memory_order_relaxed);
    task();
  });
}

IoLoop::Timer IoLoop::After(int64_t delay_ns, std::function<void()> task) {
  KPROF_CHECK(OnLoopThread());
  int64_t due_ns = state_->clock.mono_ns() + std::max<int64_t>(0, delay_ns);
  auto key = std::make_shared<int64_t>(due_ns);
  int64_t sequence = state_->next_sequence++;
  state_->timers.emplace(std::pair(due_ns, sequence), State::Due{key, std::move(task)});
  state_->SetAlarm();
  return Timer(*this, std::move(key));
}

IoLoop::Timer::Timer(Timer&& other) noexcept
    : loop_(std::exchange(other.loop_, nullptr)), key_(std::move(other.key_)) {}

IoLoop::Timer& IoLoop::Timer::operator=(Timer&& other) noexcept {
  if (this == &other) return *this;
  Cancel();
  loop_ = std::exchange(other.loop_, nullptr);
  key_ = std::move(other.key_);
  return *this;
}

void IoLoop::Timer::Cancel() {
  IoLoop* loop = std::exchange(loop_, nullptr);
  if (loop == nullptr || *key_ < 0) return;
  KPROF_CHECK(loop->OnLoopThread());
  auto& timers = loop->state_->timers;
  for (auto it = timers.lower_bound({*key_, INT64_MIN}); it != timers.end() && it->first.first == *key_; ++it) {
    if (it->second.key != key_) continue;
    timers.erase(it);
    break;
  }
  loop->state_->SetAlarm();
}

void IoLoop::Run() {
  state_->thread = std::this_thread::get_id();
  state_->context->run();
  state_->thread = std::thread::id();
}

void IoLoop::Stop() {
  state_->context->stop();
}

void IoLoop::RunUntilIdle() {
  state_->thread = std::this_thread::get_id();
  state_->context->restart();
  state_->stepping = true;
  state_->SetAlarm();
  do {
    while (state_->context->poll() > 0) {
    }
  } while (state_->RunDueTimers() || state_->context->poll() > 0);
  state_->stepping = false;
  state_->SetAlarm();
  state_->thread = std::thread::id();
}

bool IoLoop::OnLoopThread() const {
  std::thread::id thread = state_->thread;
  return thread == std::thread::id() || thread == std::this_thread::get_id();
}

const Clock& IoLoop::clock() const {
  return state_->clock;
}

int64_t IoLoop::tasks_run() const {
  return state_->tasks_run.load(std::memory_order_relaxed);
}

boost::asio::io_context& IoLoop::context() {
  return *state_->context;
}

}  // namespace kprof
