#include "daemon/devices/nvidia/event_listener.h"

#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "storage/base/clock.h"

namespace kprof {
namespace {

constexpr unsigned kWaitMs = 5000;
constexpr auto kAfterFailure = std::chrono::seconds(5);
constexpr auto kBetweenCalls = std::chrono::milliseconds(10);

std::optional<NvidiaEvent::Kind> KindOf(unsigned long long event_type) {
  if (event_type == nvml::kEventXid) return NvidiaEvent::Kind::kXid;
  if (event_type == nvml::kEventDoubleBitEcc) return NvidiaEvent::Kind::kDoubleBitEcc;
  if (event_type == nvml::kEventClock) return NvidiaEvent::Kind::kClock;
  return std::nullopt;
}

class Listener {
 public:
  Listener(const nvml::Functions& functions, nvml::EventSet set, std::function<void(NvidiaEvent)> tell,
           std::function<void(const Status&)> lost)
      : functions_(functions), set_(set), tell_(std::move(tell)), lost_(std::move(lost)) {}

  void Run() {
    while (true) {
      nvml::EventData data{};
      const int64_t begun_ns = clock_.mono_ns();
      const nvml::Return returned = functions_.wait_for_event(set_, &data, kWaitMs);
      if (IsLost(returned)) return lost_(NvmlStatus(returned, "wait for what the driver says of the device"));
      if (returned == nvml::kSuccess) {
        Tell(data);
      } else if (returned != nvml::kTimeout) {
        std::this_thread::sleep_for(kAfterFailure);
      }
      // A driver that has something to say all the time is not heard all the time.
      if (clock_.mono_ns() - begun_ns < kNanosPerMilli) std::this_thread::sleep_for(kBetweenCalls);
    }
  }

 private:
  void Tell(const nvml::EventData& data) {
    const std::optional<NvidiaEvent::Kind> kind = KindOf(data.event_type);
    if (!kind) return;
    const int64_t now_ns = clock_.mono_ns();
    int64_t& last_ns = last_ns_[static_cast<size_t>(*kind) % last_ns_.size()];
    const int64_t between_ns = *kind == NvidiaEvent::Kind::kClock ? kNanosPerSecond : kNanosPerSecond / 10;
    if (last_ns != 0 && now_ns - last_ns < between_ns) return;
    last_ns = now_ns;
    tell_({*kind, clock_.unix_ns(), data.event_data});
  }

  const nvml::Functions& functions_;
  const nvml::EventSet set_;
  const std::function<void(NvidiaEvent)> tell_;
  const std::function<void(const Status&)> lost_;
  const RealClock clock_;
  std::array<int64_t, 4> last_ns_{};  // by kind
};

}  // namespace

void ListenForEvents(const NvmlLibrary& library, CallPage& page, nvml::DeviceHandle device,
                     std::function<void(NvidiaEvent)> tell, std::function<void(const Status&)> lost) {
  const nvml::Functions& f = library.functions();
  if (f.create_event_set == nullptr || f.register_events == nullptr || f.wait_for_event == nullptr) return;
  const auto call = [&page](const char* name, const auto& function, auto... arguments) {
    page.Begin(name);
    const nvml::Return returned = function(arguments...);
    page.End();
    return returned == nvml::kSuccess;
  };
  unsigned long long wanted = nvml::kEventXid | nvml::kEventClock | nvml::kEventDoubleBitEcc;
  unsigned long long supported = 0;
  if (f.supported_events != nullptr &&
      call("nvmlDeviceGetSupportedEventTypes", f.supported_events, device, &supported)) {
    wanted &= supported;
  }
  nvml::EventSet set = nullptr;
  if (wanted == 0 || !call("nvmlEventSetCreate", f.create_event_set, &set)) return;
  if (!call("nvmlDeviceRegisterEvents", f.register_events, device, wanted, set)) {
    if (f.free_event_set != nullptr) (void)call("nvmlEventSetFree", f.free_event_set, set);
    return;
  }
  std::thread([&f, set, tell = std::move(tell), lost = std::move(lost)]() mutable {
    Listener(f, set, std::move(tell), std::move(lost)).Run();
  }).detach();  // it waits in the driver: whoever waits for it may wait for ever
}

}  // namespace kprof
