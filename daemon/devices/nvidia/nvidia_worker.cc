#include "daemon/devices/nvidia/nvidia_worker.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>
#include <variant>

#include "daemon/devices/nvidia/event_listener.h"
#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

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
