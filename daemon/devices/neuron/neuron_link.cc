#include "daemon/devices/neuron/neuron_link.h"

#include <utility>
#include <variant>

namespace kprof {

NeuronLink::~NeuronLink() {
  const std::shared_ptr<WorkerChannel> last = last_.lock();
  if (!last) return;
  last->Forget();
  last->Kill();  // all that it does is ask; the kernel ends its tools
}

void NeuronLink::Rest() {
  if (!worker_) return;
  KPROF_CHECK(!answered_);
  std::exchange(worker_, nullptr)->Close();  // it ends its tools, and then itself
}

Status NeuronLink::StartWorker() {
  if (worker_) return OkStatus();
  if (!reaped_) {  // one that hangs in the kernel: another would hang beside it
    if (!why_over_.ok()) return why_over_;
    return Fail(ErrorCode::kTimedOut, "ask the Neuron devices", "the worker that was asked before has not ended yet",
                "ask again in a moment");
  }
  WorkerChannel::Program program;
  program.path = settings_.program;
  program.arguments = {settings_.tool_folder, settings_.sysfs, settings_.config_folder, settings_.chip};
  program.packet_limit_bytes = kNeuronPacketLimitBytes;
  program.call_limit_ns = settings_.call_limit_ns;
  program.own = settings_.own;
  WorkerChannel::Events events;
  events.packet = [this](const std::string& bytes) { OnPacket(bytes); };
  events.over = [this](const Status& why) { OnOver(why); };
  events.reaped = [this] { reaped_ = true; };
  ASSIGN_OR_RETURN(worker_, WorkerChannel::Start(loop_, program, std::move(events)));
  last_ = worker_;
  reaped_ = false;
  why_over_ = OkStatus();
  devices_.clear();
  if (period_s_ > 0) Send(NeuronMonitorFor{period_s_});
  return OkStatus();
}

void NeuronLink::Ask(bool lists, Answered answered) {
  KPROF_ON_IO_LOOP(loop_);
  KPROF_CHECK(!answered_);
  if (Status started = StartWorker(); !started.ok()) {
    return loop_.Post([answered = std::move(answered), started] { answered(started); });
  }
  answered_ = std::move(answered);
  Send(NeuronAsk{lists});
  asked_tag_ = tag_;
  ExpectWhatIsOwed();
}

void NeuronLink::MonitorFor(int32_t period_s) {
  KPROF_ON_IO_LOOP(loop_);
  if (period_s_ == period_s) return;
  period_s_ = period_s;
  if (!worker_) return;
  Send(NeuronMonitorFor{period_s_});
  ExpectWhatIsOwed();
}

void NeuronLink::Send(NeuronMessage message) {
  worker_->Send(EncodeNeuronPacket({++tag_, std::move(message)}));
}

void NeuronLink::ExpectWhatIsOwed() {
  if (worker_) worker_->Expect(answered_ != nullptr || period_s_ > 0);
}

void NeuronLink::OnPacket(const std::string& bytes) {
  if (!worker_) return;
  Result<NeuronPacket> packet = DecodeNeuronPacket(bytes);
  if (!packet.ok()) {
    worker_->Kill();
    return OnOver(packet.status());
  }
  if (auto* device = std::get_if<NeuronDevice>(&packet->message)) return devices_.push_back(std::move(*device));
  const auto* told = std::get_if<NeuronTold>(&packet->message);
  if (told == nullptr) return;
  NeuronView view{.devices = std::exchange(devices_, {}),
                  .has_tree = told->has_tree,
                  .reported = told->reported,
                  .listing = StatusOf(told->listing),
                  .monitor = StatusOf(told->monitor)};
  if (packet->tag == 0) {
    if (events_.told) events_.told(std::move(view));
    return;
  }
  if (packet->tag != asked_tag_ || !answered_) return;
  const Answered answered = std::exchange(answered_, nullptr);
  ExpectWhatIsOwed();
  answered(std::move(view));
}

void NeuronLink::OnOver(const Status& why) {
  if (!worker_) return;
  worker_.reset();
  why_over_ = why;
  devices_.clear();
  if (const Answered answered = std::exchange(answered_, nullptr)) return answered(why);
  if (events_.lost) events_.lost(why);
}

}  // namespace kprof
