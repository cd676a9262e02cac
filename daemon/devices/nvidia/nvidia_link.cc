#include "daemon/devices/nvidia/nvidia_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int64_t kFirstPauseNs = kNanosPerSecond;
constexpr int64_t kLongestPauseNs = 30 * kNanosPerSecond;

DeviceHealth HealthOf(const Status& why) {
  if (why.code() == ErrorCode::kTimedOut) return DeviceHealth::kUnresponsive;
  if (why.code() == ErrorCode::kNotFound) return DeviceHealth::kLost;
  return DeviceHealth::kFailed;
}

}  // namespace

WorkerChannel::Program DeviceWorkerProgram(const NvidiaLink::Settings& settings) {
  WorkerChannel::Program program;
  program.path = settings.program;
  program.arguments = {settings.library};
  program.packet_limit_bytes = kDevicePacketLimitBytes;
  program.call_limit_ns = settings.call_limit_ns;
  program.first_limit_ns = settings.open_limit_ns;
  program.own = settings.own;
  return program;
}

NvidiaLink::NvidiaLink(IoLoop& loop, Settings settings, uint32_t index, Events events)
    : loop_(loop), settings_(std::move(settings)), index_(index), events_(std::move(events)) {}

NvidiaLink::~NvidiaLink() {
  if (!worker_) return;
  worker_->Forget();
  worker_->Kill();  // all that it does is ask
}

void NvidiaLink::Begin() {
  KPROF_ON_IO_LOOP(loop_);
  StartWorker();
}

void NvidiaLink::StartWorker() {
  if (!reaped_) {  // one that hangs in the kernel: another would hang beside it
    start_when_reaped_ = true;
    return;
  }
  WorkerChannel::Events events;
  events.packet = [this](const std::string& bytes) { OnPacket(bytes); };
  events.slow = [this](const Status& why) { OnSlow(why); };
  events.over = [this](const Status& why) { OnOver(why); };
  events.reaped = [this] { OnReaped(); };
  Result<std::shared_ptr<WorkerChannel>> worker =
      WorkerChannel::Start(loop_, DeviceWorkerProgram(settings_), std::move(events));
  if (!worker.ok()) return OnLost(worker.status());
  worker_ = *std::move(worker);
  reaped_ = false;
  opened_ = false;
  NvidiaOpen open{index_, identity_ ? identity_->uuid : "", {}};  // its index may be another's by now
  if (events_.taken) open.taken = events_.taken();
  worker_->Send(EncodeNvidiaPacket({++tag_, std::move(open)}));
  worker_->Expect(true);
}

void NvidiaLink::Ask(NvidiaMessage question, Answered answered) {
  KPROF_ON_IO_LOOP(loop_);
  const bool is_well = health_ == DeviceHealth::kOk || health_ == DeviceHealth::kStarting;
  if (is_well && questions_.size() < kMostAsked) {
    questions_.push_back({std::move(question), std::move(answered)});
    return SendNext();
  }
  const Status why = is_well ? Fail(ErrorCode::kQueueFull, "ask device " + std::to_string(index_),
                                    "too many wait for its answers", "ask again in a moment")
                             : trouble_;
  loop_.Post([answered = std::move(answered), why] { answered(why); });
}

void NvidiaLink::Watch(NvidiaWatch how_often) {
  KPROF_ON_IO_LOOP(loop_);
  if (watch_ == how_often) return;
  watch_ = how_often;
  if (opened_) Ask(watch_, [](const Result<NvidiaMessage>&) {});
}

// A worker that is told how often it is to look tells first what it has seen by then.
void NvidiaLink::TellNow(std::function<void()> told) {
  Ask(watch_, [told = std::move(told)](const Result<NvidiaMessage>&) { told(); });
}

void NvidiaLink::SendNext() {
  if (!opened_ || asked_ || questions_.empty()) return ExpectWhatIsOwed();
  asked_ = true;
  worker_->Send(EncodeNvidiaPacket({++tag_, questions_.front().message}));
  ExpectWhatIsOwed();
}

void NvidiaLink::ExpectWhatIsOwed() {
  if (worker_) worker_->Expect(!opened_ || asked_ || watch_.sample_period_ns > 0 || watch_.state_period_ns > 0);
}

void NvidiaLink::OnPacket(const std::string& bytes) {
  Result<NvidiaPacket> packet = DecodeNvidiaPacket(bytes);
  if (!packet.ok()) {
    worker_->Kill();
    return OnOver(packet.status());
  }
  if (packet->tag == 0) return OnTold(std::move(packet->message));
  if (packet->tag != tag_) return;
  opened_ ? OnAnswer(std::move(packet->message)) : OnOpened(std::move(packet->message));
}

void NvidiaLink::OnOpened(NvidiaMessage message) {
  auto* identity = std::get_if<NvidiaIdentity>(&message);
  if (identity == nullptr) {
    const auto* failed = std::get_if<NvidiaFailed>(&message);
    return OnLost(failed ? StatusOf(*failed) : Fail(ErrorCode::kInternal, "ask the device", "it says something else"));
  }
  opened_ = true;
  failures_ = 0;
  identity_ = std::move(*identity);
  if (watch_ != NvidiaWatch()) questions_.push_front({watch_, [](const Result<NvidiaMessage>&) {}});
  SetHealth(DeviceHealth::kOk, OkStatus());
  SendNext();
}

void NvidiaLink::OnAnswer(NvidiaMessage message) {
  if (!asked_) return;
  asked_ = false;
  Question question = std::move(questions_.front());
  questions_.pop_front();
  const auto* failed = std::get_if<NvidiaFailed>(&message);
  const Status why = failed == nullptr ? OkStatus() : StatusOf(*failed);
  if (auto* identity = std::get_if<NvidiaIdentity>(&message)) {
    const bool is_new = identity_ != *identity;
    identity_ = *identity;
    if (is_new && events_.changed) events_.changed();
  }
  // First what follows from it: who is told may ask again.
  if (why.code() == ErrorCode::kNotFound) {
    OnLost(why);
  } else {
    SendNext();
  }
  if (!why.ok()) return question.answered(why);
  question.answered(std::move(message));
}

void NvidiaLink::OnTold(NvidiaMessage message) {
  if (const auto* samples = std::get_if<NvidiaSamples>(&message)) {
    if (events_.samples) events_.samples(samples->samples);
  } else if (const auto* state = std::get_if<NvidiaState>(&message)) {
    if (events_.state) events_.state(*state);
  } else if (const auto* event = std::get_if<NvidiaEvent>(&message)) {
    if (events_.event) events_.event(*event);
  } else if (const auto* failed = std::get_if<NvidiaFailed>(&message)) {
    OnLost(StatusOf(*failed));
  }
}

// It answered, and what it says is that there is no device.
void NvidiaLink::OnLost(const Status& why) {
  if (worker_) worker_->Kill();
  OnOver(why);
}

// Nobody waits for it meanwhile.
void NvidiaLink::OnSlow(const Status& why) {
  SetHealth(HealthOf(why), why);
  AnswerAll(why);
}

void NvidiaLink::OnOver(const Status& why) {
  worker_.reset();
  opened_ = false;
  asked_ = false;
  StartAgainLater();
  SetHealth(HealthOf(why), why);
  AnswerAll(why);
}

void NvidiaLink::OnReaped() {
  reaped_ = true;
  if (std::exchange(start_when_reaped_, false)) StartWorker();
}

void NvidiaLink::StartAgainLater() {
  const int64_t pause_ns = std::min(kFirstPauseNs << std::min(failures_, 10), kLongestPauseNs);
  ++failures_;
  again_ = loop_.After(pause_ns, [this] { StartWorker(); });
}

void NvidiaLink::AnswerAll(const Status& why) {
  std::deque<Question> questions = std::exchange(questions_, {});
  for (Question& question : questions) question.answered(why);
}

void NvidiaLink::SetHealth(DeviceHealth health, const Status& why) {
  const bool changed = health_ != health || trouble_.ToString() != why.ToString();
  health_ = health;
  trouble_ = why;
  if (changed && events_.changed) events_.changed();
}

}  // namespace kprof
