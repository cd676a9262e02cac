#include "daemon/devices/nvidia/nvidia_devices.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "daemon/base/log.h"
#include "daemon/devices/nvidia/nvidia_protocol.h"

namespace kprof {
namespace {

constexpr uint32_t kTag = 1;

Result<uint32_t> CountIn(const std::string& bytes) {
  ASSIGN_OR_RETURN(const NvidiaPacket packet, DecodeNvidiaPacket(bytes));
  if (const auto* counted = std::get_if<NvidiaCounted>(&packet.message)) return counted->devices;
  if (const auto* failed = std::get_if<NvidiaFailed>(&packet.message)) return StatusOf(*failed);
  return Fail(ErrorCode::kInternal, "count the NVIDIA devices", "the worker says something else");
}

}  // namespace

NvidiaDeviceCounter::~NvidiaDeviceCounter() {
  if (!worker_) return;
  worker_->Forget();
  worker_->Kill();
}

void NvidiaDeviceCounter::Begin(std::function<void(Result<uint32_t>)> found) {
  KPROF_ON_IO_LOOP(loop_);
  found_ = std::move(found);
  WorkerChannel::Events events;
  events.packet = [this](const std::string& bytes) { Tell(CountIn(bytes)); };
  events.slow = [](const Status& why) {
    LogWarning("NVIDIA devices are slow to be found", {{"error", why.ToString()}});
  };
  events.over = [this](const Status& why) { Tell(why); };
  events.reaped = [this] { is_gone_ = true; };
  Result<std::shared_ptr<WorkerChannel>> worker =
      WorkerChannel::Start(loop_, DeviceWorkerProgram(settings_), std::move(events));
  if (!worker.ok()) {
    is_gone_ = true;
    return loop_.Post([this, why = worker.status()] { Tell(why); });
  }
  worker_ = *std::move(worker);
  worker_->Send(EncodeNvidiaPacket({kTag, NvidiaCount()}));
  worker_->Expect(true);
}

void NvidiaDeviceCounter::Tell(const Result<uint32_t>& found) {
  if (!found_) return;
  if (worker_) worker_->Kill();
  std::exchange(found_, nullptr)(found);
}

namespace {

constexpr uint32_t kMostNvidiaDevices = 64;
// A driver is often loaded in the first minutes of a node.
constexpr int64_t kFirstNvidiaLookNs = 5 * kNanosPerSecond;
constexpr int64_t kLongestNvidiaLookNs = 300 * kNanosPerSecond;

}  // namespace

NvidiaDevices::NvidiaDevices(IoLoop& loop, NvidiaLink::Settings settings, Events events)
    : loop_(loop), settings_(std::move(settings)), events_(std::move(events)) {}

void NvidiaDevices::Begin(std::function<void()> settled) {
  settled_ = std::move(settled);
  LookAgain();
}

void NvidiaDevices::LookAgain() {
  KPROF_ON_IO_LOOP(loop_);
  // Not beside one that hangs in the kernel.
  if (device_counter_ && !device_counter_->is_gone()) return LookAgainLater();
  device_counter_ = std::make_unique<NvidiaDeviceCounter>(loop_, settings_);
  device_counter_->Begin([this](Result<uint32_t> count) { OnCounted(std::move(count)); });
}

void NvidiaDevices::OnCounted(Result<uint32_t> count) {
  if (!count.ok() && count.status().code() != ErrorCode::kNotFound &&
      count.status().ToString() != last_look_.ToString()) {
    LogWarning("NVIDIA devices are not found", {{"error", count.status().ToString()}});
  }
  last_look_ = count.status();
  if (count.ok() && *count > kMostNvidiaDevices) {
    LogWarning("more NVIDIA devices than kprofd takes", {{"devices", std::to_string(*count)}});
  }
  const uint32_t wanted = count.ok() ? std::min(*count, kMostNvidiaDevices) : 0;
  counting_ = true;
  while (devices_.size() < wanted) Add(static_cast<uint32_t>(devices_.size()));
  LookAgainLater();
  counting_ = false;
  SettleWhenAllAreKnown();
}

void NvidiaDevices::LookAgainLater() {
  const int64_t pause_ns =
      devices_.empty() ? std::min(kFirstNvidiaLookNs << std::min(looks_for_the_first_++, 10), kLongestNvidiaLookNs)
                       : kLongestNvidiaLookNs;
  look_again_ = loop_.After(pause_ns, [this] { LookAgain(); });
}

std::vector<std::string> NvidiaDevices::UuidsBut(uint32_t number) const {
  std::vector<std::string> uuids;
  for (uint32_t other = 0; other < devices_.size(); ++other) {
    if (other != number && link(other).identity()) uuids.push_back(link(other).identity()->uuid);
  }
  return uuids;
}

void NvidiaDevices::Add(uint32_t number) {
  devices_.push_back(std::make_unique<OneDevice>());
  NvidiaLink::Events events;
  events.changed = [this, number] {
    if (events_.changed) events_.changed(number);
    SettleWhenAllAreKnown();
  };
  events.samples = [this, number](const std::vector<NvidiaSample>& samples) {
    if (!samples.empty()) TakeSample(number, samples.back());
    if (events_.samples) events_.samples(number, samples);
  };
  events.state = [this, number](const NvidiaState& state) {
    TakeState(number, state);
    if (events_.state) events_.state(number, state);
  };
  events.event = [this, number](const NvidiaEvent& event) {
    if (events_.event) events_.event(number, event);
  };
  events.taken = [this, number] { return UuidsBut(number); };
  devices_.back()->link = std::make_unique<NvidiaLink>(loop_, settings_, number, std::move(events));
  if (events_.changed) events_.changed(number);  // it is there, whoever it is
  devices_.back()->link->Begin();
}

void NvidiaDevices::SettleWhenAllAreKnown() {
  if (!settled_ || counting_) return;
  for (const auto& device : devices_) {
    if (device->link->health() == DeviceHealth::kStarting) return;
  }
  std::exchange(settled_, nullptr)();
}

void NvidiaDevices::TakeSample(uint32_t number, const NvidiaSample& sample) {
  devices_[number]->facts.sample = sample;
  devices_[number]->facts.sample_mono_ns = loop_.clock().mono_ns();
}

void NvidiaDevices::TakeState(uint32_t number, const NvidiaState& state) {
  devices_[number]->facts.state = state;
  devices_[number]->facts.state_mono_ns = loop_.clock().mono_ns();
}

void NvidiaDevices::Refresh(uint32_t number, std::function<void()> done) {
  NvidiaLink& link = *devices_[number]->link;
  link.Ask(NvidiaReadState(), [this, number](Result<NvidiaMessage> answer) {
    if (!answer.ok()) return;
    if (const auto* state = std::get_if<NvidiaState>(&*answer)) TakeState(number, *state);
  });
  link.Ask(NvidiaReadSample(), [this, number, done = std::move(done)](Result<NvidiaMessage> answer) {
    if (answer.ok()) {
      if (const auto* sample = std::get_if<NvidiaSample>(&*answer)) TakeSample(number, *sample);
    }
    done();
  });
}

}  // namespace kprof
