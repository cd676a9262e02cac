#include "client/cpp/followers.h"

#include <sys/eventfd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace kprof {
namespace {

constexpr std::chrono::milliseconds kRetryDevicesEvery(200);

// Sleeps, but not past a request to stop.
void Pause(const std::stop_token& stop, std::chrono::milliseconds duration) {
  std::mutex mu;
  std::condition_variable_any woken;
  std::unique_lock lock(mu);
  woken.wait_for(lock, stop, duration, [] { return false; });
}

}  // namespace

DeviceFollower::DeviceFollower(Connect connect, Options options)
    : connect_(std::move(connect)),
      options_(std::move(options)),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this](const std::stop_token& stop) { Follow(stop); }) {
  KPROF_CHECK(event_.valid());
}

DeviceFollower::~DeviceFollower() = default;

void DeviceFollower::Tell(const std::function<void(News&)>& change) {
  {
    MutexLock lock(mu_);
    change(news_);
  }
  ::eventfd_write(event_.get(), 1);
}

DeviceFollower::News DeviceFollower::Take() {
  MutexLock lock(mu_);
  eventfd_t count;
  ::eventfd_read(event_.get(), &count);
  News taken = std::exchange(news_, News());
  news_.disconnected = taken.disconnected;
  return taken;
}

Status DeviceFollower::FollowOnce(const std::stop_token& stop, bool& heard) {
  ASSIGN_OR_RETURN(const std::unique_ptr<KprofClient> client, connect_());
  return client->WatchDevices(
      options_.request,
      [&](const v1::WatchDevicesResponse& response) {
        heard = true;
        Tell([&](News& news) {
          news.heard = true;
          news.disconnected = false;
          for (const v1::Device& device : response.devices()) {
            v1::Device& known = news.devices[device.id()];
            auto peaks = known.peaks();
            known = device;
            if (known.peaks().empty()) known.mutable_peaks()->Swap(&peaks);
          }
          news.dropped_events += response.dropped_events();
          news.events.insert(news.events.end(), response.events().begin(), response.events().end());
          if (news.events.size() <= kMostEvents) return;
          const size_t too_many = news.events.size() - kMostEvents;
          news.dropped_events += too_many;
          news.events.erase(news.events.begin(), news.events.begin() + static_cast<std::ptrdiff_t>(too_many));
        });
        return OkStatus();
      },
      stop);
}

void DeviceFollower::Follow(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds patience(options_.reconnect_ms);
  Clock::time_point give_up = Clock::now() + patience;
  bool was_heard = false;
  while (!stop.stop_requested()) {
    bool heard = false;
    const Status status = FollowOnce(stop, heard);
    if (stop.stop_requested()) return;
    was_heard |= heard;
    if (heard) give_up = Clock::now() + patience;
    // A daemon that was never heard is not waited for.
    const bool is_away = status.ok() || status.code() == ErrorCode::kNoDaemon;
    const bool waits = was_heard && (options_.reconnect_ms < 0 || Clock::now() < give_up);
    if (!is_away || !waits) {
      const Status gone = Fail(ErrorCode::kNoDaemon, "watch devices", "kprofd went away", "start it again");
      Tell([&](News& news) { news.end = status.ok() ? gone : status; });
      return;
    }
    Tell([](News& news) { news.disconnected = true; });
    Pause(stop, kRetryDevicesEvery);
  }
}

namespace {

constexpr std::chrono::milliseconds kRetryRunEvery(100);

// One that stops and one that dies both close the connection.
bool MeansDaemonGone(const Status& status) {
  return status.code() == ErrorCode::kNoDaemon;
}

}  // namespace

bool IsEnded(v1::RunState state) {
  return state == v1::RUN_STATE_DONE || state == v1::RUN_STATE_FAILED || state == v1::RUN_STATE_CANCELLED;
}

RunFollower::RunFollower(Connect connect, std::string run_id, Options options)
    : connect_(std::move(connect)),
      run_id_(std::move(run_id)),
      options_(options),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this](const std::stop_token& stop) { Follow(stop); }) {
  KPROF_CHECK(event_.valid());
}

RunFollower::~RunFollower() = default;

void RunFollower::Tell(const std::function<void(News&)>& change) {
  {
    MutexLock lock(mu_);
    change(news_);
  }
  ::eventfd_write(event_.get(), 1);
}

RunFollower::News RunFollower::Take() {
  MutexLock lock(mu_);
  eventfd_t count;
  ::eventfd_read(event_.get(), &count);
  News taken = std::move(news_);
  news_ = News{.disconnected = taken.disconnected};
  return taken;
}

bool RunFollower::FollowOnce(const std::stop_token& stop, bool& got_news, Status& result) {
  Result<std::unique_ptr<KprofClient>> client = connect_();
  if (!client.ok()) {
    result = client.status();
    return !MeansDaemonGone(result);
  }
  v1::WatchRunRequest request;
  request.set_id(run_id_);
  request.set_hold(options_.hold);
  bool ended = false;
  v1::Run command;
  result = (*client)->WatchRun(
      request,
      [&](const v1::WatchRunResponse& response) {
        got_news = true;
        ended = IsEnded(response.run().state());
        if (command.argv().empty()) command = response.run();  // of a stream the first message alone has it
        v1::WatchRunResponse whole = response;
        *whole.mutable_run()->mutable_argv() = command.argv();
        *whole.mutable_run()->mutable_environment() = command.environment();
        Tell([&](News& news) {
          news.update = whole;
          news.resumed |= std::exchange(news.disconnected, false);
        });
        return OkStatus();
      },
      stop);
  if (ended) {
    result = OkStatus();
    return true;
  }
  return !result.ok() && !MeansDaemonGone(result);
}

void RunFollower::Follow(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds patience(options_.reconnect_ms);
  Clock::time_point give_up = Clock::now() + patience;
  Status result;
  while (!stop.stop_requested()) {
    bool got_news = false;
    if (FollowOnce(stop, got_news, result)) {
      Tell([&](News& news) { news.end = result; });
      return;
    }
    if (stop.stop_requested()) return;
    if (got_news) give_up = Clock::now() + patience;
    if (Clock::now() >= give_up) {
      Status lost =
          Fail(ErrorCode::kLostDaemon, "follow run " + run_id_,
               "kprofd went away and did not come back within " + std::to_string(options_.reconnect_ms) + " ms",
               "start it again; it then says how the run ended");
      Tell([&](News& news) { news.end = lost; });
      return;
    }
    Tell([](News& news) { news.disconnected = true; });
    Pause(stop, kRetryRunEvery);
  }
}

}  // namespace kprof
