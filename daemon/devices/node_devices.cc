#include "daemon/devices/node_devices.h"

#include <strings.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "daemon/base/log.h"
#include "daemon/devices/neuron/neuron_devices.h"

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

const char* DeviceEventKindName(DeviceEvent::Kind kind) {
  switch (kind) {
    case DeviceEvent::Kind::kFound:
      return "found";
    case DeviceEvent::Kind::kHealth:
      return "health";
    case DeviceEvent::Kind::kXid:
      return "xid";
    case DeviceEvent::Kind::kClock:
      return "clock";
    case DeviceEvent::Kind::kMemoryError:
      return "memory_error";
    case DeviceEvent::Kind::kProcesses:
      return "processes";
    case DeviceEvent::Kind::kExecutionErrors:
      return "execution_errors";
  }
  return "";
}

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
                   }}),
      neuron_(loop, settings_.neuron,
              {.changed = [this](int index) { OnNeuronChanged(index); },
               .told = [this](int index, const NeuronDevice& facts) { OnNeuronTold(index, facts); },
               .befell = [this](int index, const NeuronChange& change) { OnNeuronChange(index, change); }}) {}

void NodeDevices::Begin(std::function<void()> settled) {
  KPROF_ON_IO_LOOP(loop_);
  WriteBook();
  // One more than there are vendors: shared by what is owed.
  auto owed = std::make_shared<int>(1);
  const std::function<void()> finish = [owed, settled = std::move(settled)] {
    if (--*owed == 0) settled();
  };
  *owed += (settings_.looks_for_nvidia ? 1 : 0) + (settings_.looks_for_neuron ? 1 : 0);
  if (settings_.looks_for_nvidia) nvidia_.Begin(finish);
  if (settings_.looks_for_neuron) neuron_.Begin(finish);
  finish();
}

void NodeDevices::LookAgain() {
  if (settings_.looks_for_nvidia) nvidia_.LookAgain();
  if (settings_.looks_for_neuron) neuron_.LookAgain();
}

void NodeDevices::OnChanged(uint32_t number) {
  WriteBook();
  const NvidiaLink& link = nvidia_.link(number);
  TellHealth(IdOf(number), link.identity() ? link.identity()->name : "", link.health(), link.trouble());
}

void NodeDevices::TellHealth(const std::string& id, const std::string& name, DeviceHealth health, const Status& why) {
  if (health == DeviceHealth::kStarting || id.empty()) return;
  const auto told = told_.find(id);
  if (told != told_.end() && told->second == health) return;
  const bool is_new = told == told_.end();
  told_[id] = health;
  DeviceEvent event{DeviceEvent::Kind::kHealth, id, loop_.clock().unix_ns(), "", 0};
  if (health == DeviceHealth::kOk) {
    event.text = is_new ? "found: " + name : "answers again";
    if (is_new) event.kind = DeviceEvent::Kind::kFound;
    LogInfo("device", {{"device", id}, {"health", "ok"}, {"name", name}});
  } else {
    event.text = std::string(DeviceHealthName(health)) + ": " + why.why();
    LogWarning("device",
               {{"device", id}, {"health", std::string(DeviceHealthName(health))}, {"error", why.ToString()}});
  }
  Tell(std::move(event));
}

void NodeDevices::OnNeuronChanged(int index) {
  WriteBook();
  const NeuronDevices::One& one = neuron_.all().at(index);
  for (const auto& [id, of_id] : neuron_indexes_) {
    if (of_id == index) TellHealth(id, NeuronDeviceName(one.facts), one.health, one.trouble);
  }
}

void NodeDevices::OnNeuronTold(int index, const NeuronDevice& facts) {
  const std::vector<std::weak_ptr<Watcher>> watchers = watchers_;  // one may go from inside
  for (const std::weak_ptr<Watcher>& watcher : watchers) {
    const std::shared_ptr<Watcher> one = watcher.lock();
    const bool is_its = one && one->is_neuron && one->number == static_cast<uint32_t>(index);
    if (is_its && one->telemetry.neuron) one->telemetry.neuron(facts);
  }
}

void NodeDevices::OnNeuronChange(int index, const NeuronChange& change) {
  DeviceEvent event{DeviceEvent::Kind::kHealth, "", loop_.clock().unix_ns(), change.text, change.value};
  if (change.kind == NeuronChange::Kind::kProcesses) event.kind = DeviceEvent::Kind::kProcesses;
  if (change.kind == NeuronChange::Kind::kMemoryError) event.kind = DeviceEvent::Kind::kMemoryError;
  if (change.kind == NeuronChange::Kind::kExecutionErrors) event.kind = DeviceEvent::Kind::kExecutionErrors;
  const std::map<std::string, int> indexes = neuron_indexes_;  // whoever is told may have it written anew
  for (const auto& [id, of_id] : indexes) {
    if (of_id != index) continue;
    event.device_id = id;
    Tell(event);
  }
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
  std::vector<const NeuronDevice*> neuron;
  for (const auto& [index, one] : neuron_.all()) neuron.push_back(&one.facts);
  neuron_indexes_ = PlaceNeuronDevices(neuron, devices);
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
  if (facts.kind == DeviceKind::kNeuron) {
    FillNeuron(id, facts);
    return facts;
  }
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
  const bool asks_neuron = !neuron_.all().empty();
  refreshing_->owed = nvidia_.size() + (asks_neuron ? 1 : 0);
  refreshing_->waiting.push_back(std::move(done));
  if (refreshing_->owed == 0) return loop_.Post([all = refreshing_] { all->Finish(); });
  refreshing_->limit = loop_.After(limit_ns, [all = refreshing_] { all->Finish(); });
  const auto answered = [all = refreshing_] {
    if (--all->owed == 0) all->Finish();
  };
  for (uint32_t number = 0; number < nvidia_.size(); ++number) nvidia_.Refresh(number, answered);
  if (asks_neuron) neuron_.Refresh(answered);
}

bool NodeDevices::IsWaking() const {
  for (uint32_t number = 0; number < nvidia_.size(); ++number) {
    const DeviceHealth health = nvidia_.link(number).health();
    if (health == DeviceHealth::kStarting || health == DeviceHealth::kUnresponsive) return true;
  }
  return false;
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
  if (const auto index = neuron_indexes_.find(id); index != neuron_indexes_.end()) {
    std::shared_ptr<Watcher> watcher(
        new Watcher{static_cast<uint32_t>(index->second), std::move(telemetry), /*is_neuron=*/true},
        [this](Watcher* gone) {
          delete gone;
          WatchNeuronAsWanted();
        });
    watchers_.push_back(watcher);
    WatchNeuronAsWanted();
    return watcher;
  }
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
    if (one && !one->is_neuron && one->number == number) tell(one->telemetry);
  }
}

void NodeDevices::TellNow(const std::string& id, std::function<void()> told) {
  if (neuron_indexes_.contains(id)) return neuron_.TellNow(std::move(told));
  const std::optional<uint32_t> number = NumberOf(id);
  number ? nvidia_.link(*number).TellNow(std::move(told)) : loop_.Post(std::move(told));
}

void NodeDevices::SampleNow(const std::string& id, std::function<void(Result<NvidiaSample>)> answered) {
  const std::string what = "look at device '" + id + "'";
  const std::optional<uint32_t> number = NumberOf(id);
  if (!number) {
    const Status none = Fail(ErrorCode::kNotFound, what, "no NVIDIA driver tells of it", "see kprofctl devices");
    return loop_.Post([answered = std::move(answered), none] { answered(none); });
  }
  nvidia_.link(*number).Ask(NvidiaReadSample(), [answered = std::move(answered), what](Result<NvidiaMessage> answer) {
    if (!answer.ok()) return answered(answer.status());
    const auto* sample = std::get_if<NvidiaSample>(&*answer);
    sample != nullptr ? answered(*sample) : answered(Fail(ErrorCode::kInternal, what, "it says something else"));
  });
}

// A device that nobody watches is left in peace.
void NodeDevices::WatchAsWanted(uint32_t number) {
  bool is_watched = false;
  std::erase_if(watchers_, [](const std::weak_ptr<Watcher>& one) { return one.expired(); });
  for (const std::weak_ptr<Watcher>& watcher : watchers_) {
    const std::shared_ptr<Watcher> one = watcher.lock();
    is_watched |= one && !one->is_neuron && one->number == number;
  }
  nvidia_.link(number).Watch(is_watched ? NvidiaWatch{kSamplePeriodNs, kStatePeriodNs} : NvidiaWatch());
}

// The tools tell of all Neuron devices together.
void NodeDevices::WatchNeuronAsWanted() {
  std::erase_if(watchers_, [](const std::weak_ptr<Watcher>& one) { return one.expired(); });
  neuron_.Watch(std::any_of(watchers_.begin(), watchers_.end(), [](const std::weak_ptr<Watcher>& watcher) {
    const std::shared_ptr<Watcher> one = watcher.lock();
    return one && one->is_neuron;
  }));
}

void NodeDevices::FillNeuron(const std::string& id, DeviceFacts& facts) const {
  const auto index = neuron_indexes_.find(id);
  if (index != neuron_indexes_.end()) {
    const NeuronDevices::One& one = neuron_.all().at(index->second);
    facts.health = one.health;
    facts.trouble = one.trouble;
    facts.neuron = one.facts;
    return;
  }
  if (!settings_.looks_for_neuron) return;
  const Status& look = neuron_.last_look();
  facts.health = look.code() == ErrorCode::kTimedOut ? DeviceHealth::kUnresponsive : DeviceHealth::kLost;
  facts.trouble = look.ok() ? Fail(ErrorCode::kNotFound, "look at device '" + id + "'", "no device tells of its cores",
                                   "compare them with what neuron-ls says")
                            : look;
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
