#include "daemon/runs/command/device_hold.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/clocks/pause/profiler_pause.h"
#include "daemon/runs/seconds_text.h"

namespace kprof {
namespace {

constexpr int64_t kAskEveryNs = kNanosPerSecond / 2;
constexpr int64_t kAnswerLimitNs = kNanosPerSecond;
constexpr char kWarm[] = "device_warm";

// From which the device slows down; nothing where it does not tell.
std::optional<uint32_t> SlowsDownAt(const NvidiaIdentity& identity) {
  std::optional<uint32_t> least = identity.slowdown_c;
  if (identity.most_gpu_c && (!least || *identity.most_gpu_c < *least)) least = identity.most_gpu_c;
  return least;
}

}  // namespace

CoolDown::CoolDown(IoLoop& loop, NodeDevices& devices, std::vector<std::string> device_ids, int64_t limit_ns,
                   std::function<void(std::vector<TrustReason>)> cooled)
    : loop_(loop),
      devices_(devices),
      device_ids_(std::move(device_ids)),
      begun_mono_ns_(loop.clock().mono_ns()),
      limit_ns_(limit_ns),
      cooled_(std::move(cooled)) {
  Ask();
}

void CoolDown::Ask() {
  devices_.Refresh(kAnswerLimitNs, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Look();
  });
}

void CoolDown::Look() {
  std::vector<TrustReason> warm = TooWarm();
  const int64_t left_ns = begun_mono_ns_ + limit_ns_ - loop_.clock().mono_ns();
  if (warm.empty() || left_ns <= 0) return cooled_(std::move(warm));
  again_ = loop_.After(std::min(kAskEveryNs, left_ns), [this] { Ask(); });
}

std::vector<TrustReason> CoolDown::TooWarm() const {
  std::vector<TrustReason> trust;
  for (const std::string& id : device_ids_) {
    const Result<DeviceFacts> facts = devices_.FactsOf(id);
    if (!facts.ok() || !facts->nvidia || !facts->nvidia_sample) continue;
    const std::optional<uint32_t> limit_c = SlowsDownAt(*facts->nvidia);
    const std::optional<uint32_t> is_c = facts->nvidia_sample->temperature_c;
    if (!limit_c || !is_c || *is_c + kHeadroomC <= *limit_c) continue;
    const int64_t waited_ms = (loop_.clock().mono_ns() - begun_mono_ns_) / kNanosPerMilli;
    trust.push_back({kWarm, "device " + id + ": still at " + std::to_string(*is_c) + " C after " +
                                SecondsText(waited_ms) + " of waiting, and it slows down at " +
                                std::to_string(*limit_c) + " C"});
  }
  return trust;
}

namespace {

// Of a run that says nothing of how long it waits.
constexpr int64_t kLongestQuietWaitNs = 600 * kNanosPerSecond;
// Of a run that may take any time: nobody's monitoring is dark for longer.
constexpr int64_t kLongestPauseNs = 24 * 3600 * kNanosPerSecond;
constexpr int64_t kBesidesItsTimeoutNs = 600 * kNanosPerSecond;
// A driver whose files take longer is not waited for; neuron-ls, which may be under way, takes 4 s at most.
constexpr int64_t kCountLimitNs = 5 * kNanosPerSecond;

ClockWish ClocksOf(const RunRow& run) {
  return {run.devices, run.clocks, DeviceHold::HolderOf(run.id)};
}

}  // namespace

DeviceHold::DeviceHold(const RunContext& context, const RunRow& run)
    : context_(context), run_(run), locks_(run.session_id.empty()) {}

DeviceHold::~DeviceHold() = default;

TrustReason DeviceHold::PauseLost(const Status& why) {
  return {kProfilersNotPaused, "DCGM's profiling was not paused for a while: " + why.ToString()};
}

void DeviceHold::Prepare(Needs needs, std::function<void(const Ready&)> ready) {
  KPROF_ON_IO_LOOP(context_.loop);
  on_ready_ = std::move(ready);
  needs_ = std::move(needs);
  if (context_.node_devices == nullptr) return WaitForNcu();
  FindDevices();
  run_.exclusive ? WaitForQuiet() : PauseProfilers();
}

void DeviceHold::FindDevices() {
  for (const std::string& id : run_.devices) {
    const Result<DeviceFacts> facts = context_.node_devices->FactsOf(id);
    if (facts.ok() && (facts->nvidia || facts->neuron)) accelerators_.push_back(id);
    has_nvidia_ |= facts.ok() && facts->nvidia;
  }
}

// Nobody of its own is there yet.
void DeviceHold::WaitForQuiet() {
  QuietWait::Wish wish;
  wish.device_ids = accelerators_;
  wish.limit_ns = run_.queue_timeout_ms > 0 ? run_.queue_timeout_ms * kNanosPerMilli : kLongestQuietWaitNs;
  quiet_wait_ = std::make_unique<QuietWait>(context_.loop, *context_.node_devices, *context_.user_names,
                                            std::move(wish), [this](const Status& quiet) {
                                              if (is_over_) return;
                                              ready_.refused = quiet;
                                              quiet.ok() ? PauseProfilers() : BeReady();
                                            });
}

void DeviceHold::PauseProfilers() {
  const bool wants_it = run_.exclusive || needs_.profilers_paused;
  if (!wants_it || context_.profiler_pause == nullptr || !has_nvidia_) return WaitForNcu();
  has_pause_ = true;
  const int64_t limit_ns =
      run_.timeout_ms > 0 ? run_.timeout_ms * kNanosPerMilli + kBesidesItsTimeoutNs : kLongestPauseNs;
  context_.profiler_pause->Pause(HolderOf(run_.id), limit_ns,
                                 [this, alive = std::weak_ptr<bool>(alive_)](const ProfilerPause::Outcome& outcome) {
                                   if (alive.expired() || is_over_) return;
                                   std::vector<DeviceFacts> devices;
                                   for (const std::string& id : run_.devices) {
                                     if (Result<DeviceFacts> facts = context_.node_devices->FactsOf(id); facts.ok())
                                       devices.push_back(*facts);
                                   }
                                   if (std::optional<Condition> why = WhyNotPaused(outcome, devices)) {
                                     ready_.trust.push_back({std::move(why->code), std::move(why->message)});
                                   }
                                   WaitForNcu();
                                 });
}

// Between this and the start of ours another may come: then ours waits for it by itself.
void DeviceHold::WaitForNcu() {
  if (hurry_ || needs_.ncu_locks.empty() || context_.user_names == nullptr) return Lock();
  NcuLockWait::Wish wish;
  wish.locks = needs_.ncu_locks;
  wish.limit_ns = run_.queue_timeout_ms > 0 ? run_.queue_timeout_ms * kNanosPerMilli : kLongestQuietWaitNs;
  ncu_wait_ = std::make_unique<NcuLockWait>(context_.loop, *context_.user_names, std::move(wish),
                                            [this](const Status& is_free) {
                                              if (is_over_) return;
                                              ready_.refused = is_free;
                                              is_free.ok() ? Lock() : BeReady();
                                            });
}

void DeviceHold::Lock() {
  if (hurry_) return BeReady();
  if (!locks_) return LetCool();
  has_clocks_ = true;
  LockClocks(context_, ClocksOf(run_), [this, alive = std::weak_ptr<bool>(alive_)](const ClocksTaken& taken) {
    if (alive.expired() || is_over_) return;
    ready_.trust.insert(ready_.trust.end(), taken.trust.begin(), taken.trust.end());
    ready_.refused = taken.refused;
    taken.refused.ok() ? LetCool() : BeReady();
  });
}

void DeviceHold::LetCool() {
  if (hurry_ || run_.cool_down_ms == 0 || context_.node_devices == nullptr) return CountFirst();
  cool_down_ = std::make_unique<CoolDown>(context_.loop, *context_.node_devices, run_.devices,
                                          run_.cool_down_ms * kNanosPerMilli, [this](std::vector<TrustReason> warm) {
                                            if (is_over_) return;
                                            for (TrustReason& one : warm) ready_.trust.push_back(std::move(one));
                                            CountFirst();
                                          });
}

// What a Neuron device has counted by now is none of the run's; an NVIDIA one tells it when it is watched.
void DeviceHold::CountFirst() {
  if (context_.node_devices == nullptr) return BeReady();
  auto owed = std::make_shared<int>(1);  // shared by the answers
  const auto counted = [this, owed, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired() || --*owed > 0) return;
    count_limit_.Cancel();
    BeReady();
  };
  for (const std::string& id : run_.devices) {
    const Result<DeviceFacts> facts = context_.node_devices->FactsOf(id);
    if (!facts.ok() || !facts->neuron) continue;
    ++*owed;
    context_.node_devices->TellNow(id, counted);
  }
  if (*owed > 1) count_limit_ = context_.loop.After(kCountLimitNs, [this] { BeReady(); });
  counted();
}

void DeviceHold::BeReady() {
  if (const auto ready = std::exchange(on_ready_, nullptr)) ready(ready_);
}

void DeviceHold::Hurry() {
  if (std::exchange(hurry_, true) || (!cool_down_ && !quiet_wait_ && !ncu_wait_)) return;
  cool_down_.reset();
  ncu_wait_.reset();
  quiet_wait_.reset();
  context_.loop.Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) BeReady();
  });
}

void DeviceHold::BeginWatching() {
  if (context_.node_devices != nullptr) watch_ = std::make_unique<DeviceWatch>(context_, run_);
}

void DeviceHold::NoteCommand(pid_t command) {
  if (watch_) watch_->NoteCommand(command);
}

void DeviceHold::EndWatching() {
  if (!watch_ || std::exchange(ends_watching_, true)) return;
  watch_->End([this](WatchedDevices seen) {
    seen_ = std::move(seen);
    watched_ = true;
    if (is_over_) GiveClocksBack();
  });
}

void DeviceHold::End(std::function<void(WatchedDevices)> ended) {
  KPROF_ON_IO_LOOP(context_.loop);
  ended_ = std::move(ended);
  is_over_ = hurry_ = true;
  on_ready_ = nullptr;
  count_limit_.Cancel();
  owed_ = 3;
  if (has_pause_) {
    context_.profiler_pause->Resume(HolderOf(run_.id), [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) OnePartOver();
    });
  } else {
    OnePartOver();
  }
  EndWatching();
  if (!watch_ || watched_) GiveClocksBack();
  OnePartOver();
}

// Only when it is no longer watched: what a device without its lock does is not the run's.
void DeviceHold::GiveClocksBack() {
  if (!has_clocks_) return OnePartOver();
  ReleaseClocks(context_, ClocksOf(run_), [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) OnePartOver();
  });
}

void DeviceHold::OnePartOver() {
  if (--owed_ > 0) return;
  const auto ended = std::exchange(ended_, nullptr);
  ended(std::move(seen_));
}

}  // namespace kprof
