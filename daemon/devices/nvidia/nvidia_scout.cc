#include "daemon/devices/nvidia/nvidia_scout.h"

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

}  // namespace kprof
