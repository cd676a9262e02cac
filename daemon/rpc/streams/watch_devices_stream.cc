#include "daemon/rpc/streams/watch_devices_stream.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/devices/node_devices.h"
#include "daemon/rpc/messages/status_message.h"
#include "daemon/rpc/services/device_view.h"
#include "daemon/rpc/streams/call_record.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

std::string HolderOf(const v1::Device& device) {
  std::string holder = "another user";
  if (!device.run_id().empty()) holder = "run " + device.run_id();
  if (!device.session_id().empty()) holder = "session " + device.session_id();
  return holder;
}

std::string LockOf(const v1::DeviceClocks& clocks) {
  std::string text;
  if (clocks.has_locked_sm_mhz()) {
    const uint32_t mhz = clocks.locked_sm_mhz();
    text = mhz == 0 ? "the base clock" : std::to_string(mhz) + " MHz";
  }
  if (clocks.has_locked_memory_mhz()) {
    text += (text.empty() ? "memory " : ", memory ") + std::to_string(clocks.locked_memory_mhz()) + " MHz";
  }
  return text;
}

// The session, or the run of none: rounds of a session are no leases.
bool IsSameLease(const v1::Device& before, const v1::Device& now) {
  if ((before.held_since_unix_ns() == 0) != (now.held_since_unix_ns() == 0)) return false;
  if (before.session_id() != now.session_id()) return false;
  return !now.session_id().empty() || before.run_id() == now.run_id();
}

}  // namespace

std::vector<v1::DeviceEvent> ChangesBetween(const v1::Device& before, const v1::Device& now, int64_t now_unix_ns) {
  std::vector<v1::DeviceEvent> events;
  const auto add = [&](const char* kind, const std::string& text, uint64_t value = 0) {
    v1::DeviceEvent& event = events.emplace_back();
    event.set_device_id(now.id());
    event.set_kind(kind);
    event.set_unix_ns(now_unix_ns);
    event.set_text(text);
    event.set_value(value);
  };
  const bool is_same_lock = before.clocks().locked() == now.clocks().locked() &&
                            before.clocks().locked_sm_mhz() == now.clocks().locked_sm_mhz() &&
                            before.clocks().locked_memory_mhz() == now.clocks().locked_memory_mhz();
  const bool is_same_lease = IsSameLease(before, now);
  if (!is_same_lock && before.clocks().locked()) add("unlocked", "its clocks were at " + LockOf(before.clocks()));
  if (!is_same_lease && before.held_since_unix_ns() != 0) add("released", "by " + HolderOf(before));
  if (!is_same_lease && now.held_since_unix_ns() != 0) add("leased", "to " + HolderOf(now));
  if (!is_same_lock && now.clocks().locked()) {
    add("locked", "its clocks are at " + LockOf(now.clocks()), now.clocks().locked_sm_mhz());
  }
  return events;
}

v1::DeviceEvent MessageOf(const DeviceEvent& event) {
  v1::DeviceEvent message;
  message.set_device_id(event.device_id);
  message.set_kind(DeviceEventKindName(event.kind));
  message.set_unix_ns(event.unix_ns);
  message.set_text(ReadableText(event.text));
  message.set_value(event.value);
  return message;
}

namespace {

constexpr int64_t kFirstAnswerNs = kNanosPerSecond;
constexpr int64_t kLookEveryNs = kNanosPerSecond / 10;
constexpr uint32_t kLeastPeriodMs = 100;
constexpr uint32_t kMostPeriodMs = 60'000;
constexpr uint32_t kUsualPeriodMs = 1000;
constexpr const char* kWatchDevicesAct = "watch devices";

Status CheckPeriod(uint32_t period_ms) {
  if (period_ms == 0 || (period_ms >= kLeastPeriodMs && period_ms <= kMostPeriodMs)) return OkStatus();
  return Fail(ErrorCode::kUsage, kWatchDevicesAct, "every " + std::to_string(period_ms) + " ms is not offered",
              "ask for 100 to 60000 ms");
}

// All fields belong to the loop, where gRPC's reactions post to. It goes when gRPC is done with it.
class WatchDevicesStream final : public grpc::ServerWriteReactor<v1::WatchDevicesResponse> {
 public:
  WatchDevicesStream(CallRecord record, const ServiceContext& context, const v1::WatchDevicesRequest& request)
      : context_(context),
        record_(std::move(record)),
        view_(context, record_.caller()),
        events_only_(request.events_only()),
        period_ns_((request.period_ms() == 0 ? kUsualPeriodMs : request.period_ms()) * kNanosPerMilli) {
    record_.BecomeWatch();
    Status refused = record_.admitted();
    if (refused.ok()) refused = CheckPeriod(request.period_ms());
    if (refused.ok()) {
      Result<Places::Place> place =
          context_.limits.device_watches.Take(record_.caller().account(), kWatchDevicesAct, "watches of devices");
      refused = place.status();
      if (place.ok()) place_.emplace(*std::move(place));
    }
    to_grpc_.Give();
    context_.loop.Post([this, refused] { Begin(refused); });
  }

  void OnWriteDone(bool ok) override {
    to_grpc_.Take();
    context_.loop.Post([this, ok] {
      writing_ = false;
      v1::WatchDevicesResponse().Swap(&message_);  // unlike Clear, gives the memory back
      record_.GiveAnswerBack();
      if (finished_) return;
      if (!ok) return End(grpc::Status::CANCELLED);
      if (!events_.empty()) Send();
    });
  }
  void OnCancel() override {
    to_grpc_.Take();
    context_.loop.Post([this] { End(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    to_grpc_.Take();
    context_.loop.Post([this] { delete this; });
  }

 private:
  ~WatchDevicesStream() override = default;

  void Begin(const Status& refused) {
    if (finished_) return;
    if (!refused.ok()) return End(ToGrpc(refused));
    if (context_.node_devices == nullptr || events_only_) return BeginTelling();
    WatchThem();
    context_.node_devices->Refresh(kFirstAnswerNs, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired() && !finished_) BeginTelling();
    });
  }

  void BeginTelling() {
    if (context_.node_devices != nullptr) {
      listening_ = context_.node_devices->Listen([this](const DeviceEvent& event) {
        if (!event.device_id.empty()) AddEvent(MessageOf(event));
      });
    }
    holders_ = Holders();
    is_due_ = true;
    Send();
    LookLater();
  }

  // Also those that are found later. One that nobody can ask is looked at all the same.
  void WatchThem() {
    if (context_.node_devices == nullptr || events_only_) return;
    const std::shared_ptr<const DeviceList> list = context_.devices.now();
    for (const Device& device : list->all()) {
      std::shared_ptr<void>& watching = watching_[device.id];
      if (!watching) watching = context_.node_devices->Watch(device.id, {});
    }
  }

  void LookLater() {
    look_ = context_.loop.After(std::min(kLookEveryNs, period_ns_), [this] {
      WatchThem();
      LookForChanges();
      if (context_.clock.mono_ns() - told_mono_ns_ >= period_ns_) is_due_ = true;
      if (!writing_ && (is_due_ || !events_.empty())) Send();
      if (!finished_) LookLater();
    });
  }

  std::map<std::string, v1::Device> Holders() const {
    google::protobuf::RepeatedPtrField<v1::Device> devices;
    view_.Fill(DeviceView::Detail::kLease, devices);
    std::map<std::string, v1::Device> holders;
    for (v1::Device& device : devices) {
      view_.FillClocks(device.id(), *device.mutable_clocks());
      holders.emplace(device.id(), std::move(device));
    }
    return holders;
  }

  void LookForChanges() {
    std::map<std::string, v1::Device> now = Holders();
    for (const auto& [id, device] : now) {
      const auto before = holders_.find(id);
      if (before == holders_.end()) continue;
      for (v1::DeviceEvent& event : ChangesBetween(before->second, device, context_.clock.unix_ns())) {
        events_.push_back(std::move(event));
      }
    }
    holders_ = std::move(now);
    ForgetTheOldest();
  }

  void AddEvent(v1::DeviceEvent event) {
    events_.push_back(std::move(event));
    ForgetTheOldest();
    if (writing_ || sending_soon_) return;
    sending_soon_ = true;  // not from inside of what befell it
    context_.loop.Post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      sending_soon_ = false;
      if (!finished_ && !writing_ && !events_.empty()) Send();
    });
  }

  void ForgetTheOldest() {
    while (events_.size() > kMostWaitingEvents) {
      events_.pop_front();
      ++dropped_;
    }
  }

  void Send() {
    if (std::exchange(is_due_, false)) {
      told_mono_ns_ = context_.clock.mono_ns();
      if (!events_only_) AddChangedDevices();
    }
    for (v1::DeviceEvent& event : events_) *message_.add_events() = std::move(event);
    events_.clear();
    message_.set_dropped_events(std::exchange(dropped_, 0));
    message_.set_now_unix_ns(context_.clock.unix_ns());
    const Status taken = record_.TakeAnswer(message_.ByteSizeLong());
    if (!taken.ok()) return End(ToGrpc(taken));
    writing_ = true;
    StartWrite(&message_);
  }

  void AddChangedDevices() {
    const bool is_first = told_.empty();
    google::protobuf::RepeatedPtrField<v1::Device> devices;
    view_.Fill(is_first ? DeviceView::Detail::kAll : DeviceView::Detail::kTold, devices);
    for (v1::Device& device : devices) {
      const auto peaks = device.peaks();
      device.clear_peaks();
      std::string now = device.SerializeAsString();
      std::string& before = told_[device.id()];
      if (before == now) continue;
      before = std::move(now);
      *device.mutable_peaks() = peaks;
      *message_.add_devices() = std::move(device);
    }
  }

  // Only the first one counts.
  void End(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return;
    look_.Cancel();
    listening_.reset();
    watching_.clear();
    place_.reset();
    Finish(record_.Ending(status));
  }

  const ServiceContext& context_;
  CallRecord record_;
  const DeviceView view_;
  const bool events_only_;
  const int64_t period_ns_;
  TsanHandoff to_grpc_;  // of what the constructor made; all else is the loop's
  std::optional<Places::Place> place_;
  std::map<std::string, std::shared_ptr<void>> watching_;
  std::shared_ptr<void> listening_;
  std::map<std::string, v1::Device> holders_;  // as they were at the last look
  std::map<std::string, std::string> told_;    // each as it was told last
  std::deque<v1::DeviceEvent> events_;
  uint64_t dropped_ = 0;
  int64_t told_mono_ns_ = 0;
  bool is_due_ = false;
  bool sending_soon_ = false;
  IoLoop::Timer look_;
  v1::WatchDevicesResponse message_;  // on its way, while `writing_`
  bool writing_ = false;
  bool finished_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers may come when it is gone
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchDevicesResponse>* StartWatchDevices(CallRecord record, const ServiceContext& context,
                                                                      const v1::WatchDevicesRequest& request) {
  return new WatchDevicesStream(std::move(record), context, request);
}

}  // namespace kprof
