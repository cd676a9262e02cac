#include "daemon/devices/nvidia/nvidia_worker.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "daemon/devices/nvidia/nvml_library.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/clock.h"
#include "storage/base/packet_socket.h"
#include "storage/base/status.h"

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

// Hears the driver's own events of one device (XIDs, changed clocks, memory errors), on a thread of its own, which
// waits in the driver.
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

// Listens until the process ends, or the device is lost; both are called from the thread. Of each kind few are told:
// changed clocks once a second at most, as a device that is not locked changes its clock all the time, others ten
// times. Nothing where the driver has no such events. The library must live as long as the process does.
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

// Samples are told together: each telling wakes kprofd.
constexpr int64_t kTellAfterNs = kNanosPerSecond / 2;
constexpr size_t kMostTold = 64;
constexpr int kWriteWaitMs = 10'000;  // for a kprofd that has no time to read

Status NotOpen() {
  return Fail(ErrorCode::kInternal, "ask an NVIDIA device", "it was not opened", "report it: a mistake of kprof's");
}

template <typename T>
NvidiaMessage AnswerOf(Result<T> read) {
  if (!read.ok()) return FailedOf(read.status());
  return *std::move(read);
}

}  // namespace

void NvidiaWorker::Run() {
  while (true) {
    pollfd readable{channel_.get(), POLLIN, 0};
    const int ready = ::poll(&readable, 1, WaitMs());
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0 && !Receive()) return;
    LookAgain();
  }
}

bool NvidiaWorker::Receive() {
  Packet packet;
  const int error = ReceivePacket(channel_.get(), kDevicePacketLimitBytes, packet);
  if (error == EAGAIN || error == EINTR) return true;
  if (error != 0 || packet.end || packet.cut) return false;
  Result<NvidiaPacket> request = DecodeNvidiaPacket(packet.bytes);
  if (!request.ok()) return false;
  Tell(request->tag, Answer(request->message));
  return true;
}

NvidiaMessage NvidiaWorker::Answer(const NvidiaMessage& request) {
  if (std::holds_alternative<NvidiaCount>(request)) return Count();
  if (const auto* open = std::get_if<NvidiaOpen>(&request)) return Open(*open);
  if (!device_) return FailedOf(NotOpen());
  if (std::holds_alternative<NvidiaReadIdentity>(request)) return AnswerOf(device_->ReadIdentity());
  if (std::holds_alternative<NvidiaReadState>(request)) return AnswerOf(device_->ReadState());
  if (std::holds_alternative<NvidiaReadSample>(request)) return AnswerOf(device_->ReadSample(clock_));
  if (const auto* watch = std::get_if<NvidiaWatch>(&request)) return Watch(*watch);
  return FailedOf(NotOpen());
}

Status NvidiaWorker::OpenLibrary() {
  if (library_) return OkStatus();
  page_.Begin("nvmlInit_v2");
  Result<NvmlLibrary> library = NvmlLibrary::Open(library_path_);
  page_.End();
  if (!library.ok()) return library.status();
  library_.emplace(*std::move(library));
  return OkStatus();
}

NvidiaMessage NvidiaWorker::Count() {
  if (Status opened = OpenLibrary(); !opened.ok()) return FailedOf(opened);
  Result<uint32_t> count = CountNvidiaDevices(*library_, page_);
  if (!count.ok()) return FailedOf(count.status());
  return NvidiaCounted{*count};
}

NvidiaMessage NvidiaWorker::Open(const NvidiaOpen& request) {
  if (Status opened = OpenLibrary(); !opened.ok()) return FailedOf(opened);
  Result<NvmlDevice> device = request.uuid.empty()
                                  ? NvmlDevice::AtIndexOrAnother(*library_, page_, request.index, request.taken)
                                  : NvmlDevice::OfUuid(*library_, page_, request.uuid);
  if (!device.ok()) return FailedOf(device.status());
  device_.emplace(*std::move(device));
  NvidiaMessage identity = AnswerOf(device_->ReadIdentity());
  if (std::holds_alternative<NvidiaIdentity>(identity)) {
    ListenForEvents(
        *library_, page_, device_->handle(), [this](NvidiaEvent event) { Tell(0, event); },
        [this](const Status& why) { Tell(0, FailedOf(why)); });
  }
  return identity;
}

NvidiaMessage NvidiaWorker::Watch(const NvidiaWatch& request) {
  TellSamples();
  samples_.Begin(request.sample_period_ns);
  states_.Begin(request.state_period_ns);
  return NvidiaDone{};
}

int NvidiaWorker::WaitMs() const {
  int64_t due_ns = INT64_MAX;
  if (samples_.active()) due_ns = std::min(due_ns, samples_.due_ns());
  if (states_.active()) due_ns = std::min(due_ns, states_.due_ns());
  if (due_ns == INT64_MAX) return -1;
  const int64_t wait_ns = std::max<int64_t>(0, due_ns - clock_.mono_ns());
  return static_cast<int>(std::min<int64_t>((wait_ns + kNanosPerMilli - 1) / kNanosPerMilli, INT_MAX));
}

// One question at a time: whoever asks for something else need not wait for both.
void NvidiaWorker::LookAgain() {
  const int64_t now_ns = clock_.mono_ns();
  std::optional<Status> lost;
  if (samples_.IsDue(now_ns)) {
    Result<NvidiaSample> sample = device_->ReadSample(clock_);
    samples_.Asked(now_ns, clock_.mono_ns());
    if (sample.ok()) {
      if (taken_.samples.empty()) taken_since_ns_ = now_ns;
      taken_.samples.push_back(*std::move(sample));
    } else {
      lost = sample.status();
    }
  } else if (states_.IsDue(now_ns)) {
    Result<NvidiaState> state = device_->ReadState();
    states_.Asked(now_ns, clock_.mono_ns());
    if (state.ok()) {
      Tell(0, *std::move(state));
    } else {
      lost = state.status();
    }
  }
  if (now_ns - taken_since_ns_ >= kTellAfterNs || taken_.samples.size() >= kMostTold) TellSamples();
  if (!lost) return;
  TellSamples();
  samples_.Begin(0);
  states_.Begin(0);
  Tell(0, FailedOf(*lost));
}

void NvidiaWorker::TellSamples() {
  if (taken_.samples.empty()) return;
  Tell(0, std::exchange(taken_, {}));
}

void NvidiaWorker::Tell(uint32_t tag, NvidiaMessage message) {
  const std::string bytes = EncodeNvidiaPacket({tag, std::move(message)});
  while (true) {
    const int error = SendPacket(channel_.get(), bytes);
    if (error != EAGAIN) return;  // whoever asked is gone: Receive finds out
    pollfd writable{channel_.get(), POLLOUT, 0};
    if (::poll(&writable, 1, kWriteWaitMs) == 0) return;
  }
}

}  // namespace kprof
