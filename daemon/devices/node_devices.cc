#include "daemon/devices/node_devices.h"

#include <strings.h>

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int64_t kSamplePeriodNs = kNanosPerSecond / 10;
constexpr int64_t kStatePeriodNs = kNanosPerSecond;

// A runtime takes a uuid in any case, and its beginning as well.
bool IsTheUuid(const std::string& given, const std::string& whole) {
  return !given.empty() && given.size() <= whole.size() &&
         ::strncasecmp(given.c_str(), whole.c_str(), given.size()) == 0;
}

}  // namespace

// Those who wait for the devices' answers.
struct NodeDevices::Refreshing {
  size_t owed = 0;
  std::vector<std::function<void()>> waiting;
  IoLoop::Timer limit;

  void Finish() {
    limit.Cancel();
    for (const std::function<void()>& done : std::exchange(waiting, {})) done();
  }
};

NodeDevices::NodeDevices(IoLoop& loop, Settings settings, DeviceBook& book)
    : loop_(loop),
      settings_(std::move(settings)),
      book_(book),
      nvidia_(loop, settings_.nvidia,
              {.changed = [this](uint32_t number) { OnChanged(number); },
               .samples =
                   [this](uint32_t number, const std::vector<NvidiaSample>& samples) {
                     TellWatchers(number, [&](const Telemetry& to) {
                       if (to.samples) to.samples(samples);
                     });
                   },
               .state =
                   [this](uint32_t number, const NvidiaState& state) {
                     TellWatchers(number, [&](const Telemetry& to) {
                       if (to.state) to.state(state);
                     });
                   },
               .event =
                   [this](uint32_t number, const NvidiaEvent& event) {
                     DeviceEvent told{DeviceEvent::Kind::kClock, IdOf(number), event.unix_ns, "its clock changed",
                                      event.value};
                     if (event.kind == NvidiaEvent::Kind::kXid) {
                       told.kind = DeviceEvent::Kind::kXid;
                       told.text = "the driver reported Xid " + std::to_string(event.value);
                     } else if (event.kind == NvidiaEvent::Kind::kDoubleBitEcc) {
                       told.kind = DeviceEvent::Kind::kMemoryError;
                       told.text = "an uncorrected memory error";
                     }
                     Tell(std::move(told));
                   }}) {}

void NodeDevices::Begin(std::function<void()> settled) {
  KPROF_ON_IO_LOOP(loop_);
  WriteBook();
  if (!settings_.looks_for_nvidia) return settled();
  nvidia_.Begin(std::move(settled));
}

void NodeDevices::LookAgain() {
  if (settings_.looks_for_nvidia) nvidia_.LookAgain();
}

void NodeDevices::OnChanged(uint32_t number) {
  WriteBook();
  const NvidiaLink& link = nvidia_.link(number);
  const std::string id = IdOf(number);
  if (link.health() == DeviceHealth::kStarting) return;
  const auto told = told_.find(number);
  if (told != told_.end() && told->second == link.health()) return;
  const bool is_new = told == told_.end();
  told_[number] = link.health();
  DeviceEvent event{DeviceEvent::Kind::kHealth, id, loop_.clock().unix_ns(), "", 0};
  if (link.health() == DeviceHealth::kOk) {
    event.text = is_new ? "found: " + link.identity()->name : "answers again";
    if (is_new) event.kind = DeviceEvent::Kind::kFound;
    LogInfo("device", {{"device", id}, {"health", "ok"}, {"name", link.identity()->name}});
  } else {
    event.text = std::string(DeviceHealthName(link.health())) + ": " + link.trouble().why();
    LogWarning("device", {{"device", id},
                          {"health", std::string(DeviceHealthName(link.health()))},
                          {"error", link.trouble().ToString()}});
  }
  Tell(std::move(event));
}

void NodeDevices::WriteBook() {
  std::vector<Device> devices = settings_.configured;
  std::set<std::string> taken;
  for (const Device& device : devices) taken.insert(device.id);
  const bool only_configured = std::any_of(devices.begin(), devices.end(),
                                           [](const Device& device) { return device.kind == DeviceKind::kNvidia; });
  numbers_.clear();
  size_t next_id = 0;
  for (uint32_t number = 0; number < nvidia_.size(); ++number) {
    const std::optional<NvidiaIdentity>& identity = nvidia_.link(number).identity();
    size_t place = 0;
    for (Device& device : devices) {
      if (device.kind != DeviceKind::kNvidia) continue;
      const bool is_it = device.uuid.empty() ? place == number : identity && IsTheUuid(device.uuid, identity->uuid);
      ++place;
      if (!is_it || numbers_.contains(device.id)) continue;
      numbers_[device.id] = number;
      if (device.name.empty() && identity) device.name = identity->name;
      break;
    }
    if (only_configured) continue;
    while (taken.contains(std::to_string(next_id))) ++next_id;
    Device device{.id = std::to_string(next_id), .kind = DeviceKind::kNvidia, .name = "NVIDIA device"};
    if (identity) {
      device.name = identity->name;
      device.uuid = identity->uuid;
    }
    taken.insert(device.id);
    numbers_[device.id] = number;
    devices.push_back(std::move(device));
  }
  book_.Set(DeviceList(std::move(devices)));
}

Result<DeviceFacts> NodeDevices::FactsOf(const std::string& id) const {
  const std::shared_ptr<const DeviceList> list = book_.now();
  const auto known =
      std::find_if(list->all().begin(), list->all().end(), [&](const Device& device) { return device.id == id; });
  if (known == list->all().end()) {
    return Fail(ErrorCode::kNotFound, "look at device '" + id + "'", "this node has none", "see kprofctl devices");
  }
  DeviceFacts facts;
  facts.kind = known->kind;
  const std::optional<uint32_t> number = NumberOf(id);
  if (!number) {
    if (facts.kind != DeviceKind::kNvidia || !settings_.looks_for_nvidia) return facts;
    const Status& look = nvidia_.last_look();
    facts.health = DeviceHealth::kLost;
    facts.trouble = look.ok() ? Fail(ErrorCode::kNotFound, "look at device '" + id + "'", "no driver tells of it",
                                     "compare its uuid with what nvidia-smi -L says")
                              : look;
    return facts;
  }
  const NvidiaLink& link = nvidia_.link(*number);
  facts.health = link.health();
  facts.trouble = link.trouble();
  facts.nvidia = link.identity();
  facts.nvidia_state = nvidia_.facts(*number).state;
  facts.nvidia_sample = nvidia_.facts(*number).sample;
  return facts;
}

void NodeDevices::Refresh(int64_t limit_ns, std::function<void()> done) {
  KPROF_ON_IO_LOOP(loop_);
  if (refreshing_ && !refreshing_->waiting.empty()) return refreshing_->waiting.push_back(std::move(done));
  refreshing_ = std::make_shared<Refreshing>();
  refreshing_->owed = nvidia_.size();
  refreshing_->waiting.push_back(std::move(done));
  if (refreshing_->owed == 0) return loop_.Post([all = refreshing_] { all->Finish(); });
  refreshing_->limit = loop_.After(limit_ns, [all = refreshing_] { all->Finish(); });
  for (uint32_t number = 0; number < nvidia_.size(); ++number) {
    nvidia_.Refresh(number, [all = refreshing_] {
      if (--all->owed == 0) all->Finish();
    });
  }
}

std::optional<std::string> NodeDevices::IdOfUuid(const std::string& uuid) const {
  for (const auto& [id, number] : numbers_) {
    const std::optional<NvidiaIdentity>& identity = nvidia_.link(number).identity();
    if (identity && identity->uuid == uuid) return id;
  }
  return std::nullopt;
}

std::shared_ptr<void> NodeDevices::Listen(Listener listener) {
  auto kept = std::make_shared<Listener>(std::move(listener));
  std::erase_if(listeners_, [](const std::weak_ptr<Listener>& one) { return one.expired(); });
  listeners_.push_back(kept);
  return kept;
}

void NodeDevices::Tell(DeviceEvent event) {
  if (event.device_id.empty()) return;                                // none of those that are leased
  const std::vector<std::weak_ptr<Listener>> listeners = listeners_;  // one may subscribe from inside
  for (const std::weak_ptr<Listener>& listener : listeners) {
    if (const std::shared_ptr<Listener> one = listener.lock()) (*one)(event);
  }
}

std::shared_ptr<void> NodeDevices::Watch(const std::string& id, Telemetry telemetry) {
  const std::optional<uint32_t> number = NumberOf(id);
  if (!number) return nullptr;
  std::shared_ptr<Watcher> watcher(new Watcher{*number, std::move(telemetry)}, [this, number = *number](Watcher* gone) {
    delete gone;
    WatchAsWanted(number);
  });
  watchers_.push_back(watcher);
  WatchAsWanted(*number);
  return watcher;
}

void NodeDevices::TellWatchers(uint32_t number, const std::function<void(const Telemetry&)>& tell) {
  const std::vector<std::weak_ptr<Watcher>> watchers = watchers_;  // one may go from inside
  for (const std::weak_ptr<Watcher>& watcher : watchers) {
    const std::shared_ptr<Watcher> one = watcher.lock();
    if (one && one->number == number) tell(one->telemetry);
  }
}

// A device that nobody watches is left in peace.
void NodeDevices::WatchAsWanted(uint32_t number) {
  bool is_watched = false;
  std::erase_if(watchers_, [](const std::weak_ptr<Watcher>& one) { return one.expired(); });
  for (const std::weak_ptr<Watcher>& watcher : watchers_) {
    const std::shared_ptr<Watcher> one = watcher.lock();
    is_watched |= one && one->number == number;
  }
  nvidia_.link(number).Watch(is_watched ? NvidiaWatch{kSamplePeriodNs, kStatePeriodNs} : NvidiaWatch());
}

std::string NodeDevices::IdOf(uint32_t number) const {
  for (const auto& [id, of_id] : numbers_) {
    if (of_id == number) return id;
  }
  return "";
}

std::optional<uint32_t> NodeDevices::NumberOf(const std::string& id) const {
  const auto found = numbers_.find(id);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

}  // namespace kprof
