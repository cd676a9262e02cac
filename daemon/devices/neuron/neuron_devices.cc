#include "daemon/devices/neuron/neuron_devices.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

std::string JoinedNumbers(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::set<int64_t> PidsOf(const NeuronDevice& device) {
  std::set<int64_t> pids;
  for (const NeuronProcess& process : device.processes) pids.insert(process.pid);
  return pids;
}

std::vector<std::string> Missing(const std::set<int64_t>& from, const std::set<int64_t>& in) {
  std::vector<std::string> missing;
  for (const int64_t pid : from) {
    if (!in.contains(pid)) missing.push_back(std::to_string(pid));
  }
  return missing;
}

class Changes {
 public:
  void AddGrown(NeuronChange::Kind kind, const char* what, const std::optional<int64_t>& before,
                const std::optional<int64_t>& now) {
    if (!before || !now || *now <= *before) return;
    changes_.push_back(
        {kind,
         std::string(what) + ": " + std::to_string(*now) + ", " + std::to_string(*now - *before) + " more than before",
         static_cast<uint64_t>(*now)});
  }
  void Add(NeuronChange change) { changes_.push_back(std::move(change)); }
  std::vector<NeuronChange> Take() { return std::move(changes_); }

 private:
  std::vector<NeuronChange> changes_;
};

}  // namespace

std::vector<NeuronChange> ChangesOf(const NeuronDevice& before, const NeuronDevice& now) {
  using Kind = NeuronChange::Kind;
  Changes changes;
  const std::set<int64_t> old_pids = PidsOf(before);
  const std::set<int64_t> pids = PidsOf(now);
  const std::vector<std::string> came = Missing(pids, old_pids);
  const std::vector<std::string> went = Missing(old_pids, pids);
  if (!came.empty()) changes.Add({Kind::kProcesses, "used by process " + JoinedNumbers(came), pids.size()});
  if (!went.empty()) changes.Add({Kind::kProcesses, "no more used by process " + JoinedNumbers(went), pids.size()});
  changes.AddGrown(Kind::kMemoryError, "uncorrected errors of its memory", before.ecc.mem_uncorrected,
                   now.ecc.mem_uncorrected);
  changes.AddGrown(Kind::kMemoryError, "uncorrected errors of its memory that can be repaired",
                   before.ecc.mem_repairable_uncorrected, now.ecc.mem_repairable_uncorrected);
  changes.AddGrown(Kind::kMemoryError, "uncorrected errors of its SRAM", before.ecc.sram_uncorrected,
                   now.ecc.sram_uncorrected);
  changes.AddGrown(Kind::kExecutionErrors, "executions with errors", before.execution_errors, now.execution_errors);
  if (before.unhealthy_components != now.unhealthy_components) {
    changes.Add({Kind::kUnhealthy,
                 now.unhealthy_components.empty()
                     ? "its driver calls no component unhealthy any more"
                     : "its driver calls unhealthy: " + JoinedNumbers(now.unhealthy_components),
                 now.unhealthy_components.size()});
  }
  return changes.Take();
}

namespace {

bool HasCore(const NeuronDevice& device, int number) {
  return std::any_of(device.cores.begin(), device.cores.end(),
                     [&](const NeuronLogicalCore& core) { return core.number == number; });
}

}  // namespace

std::string NeuronDeviceName(const NeuronDevice& device) {
  return device.chip.empty() ? "Neuron device" : device.chip;
}

std::map<std::string, int> PlaceNeuronDevices(const std::vector<const NeuronDevice*>& found,
                                              std::vector<Device>& devices) {
  std::map<std::string, int> places;
  bool are_named = false;
  std::set<std::string> taken;
  for (Device& device : devices) {
    taken.insert(device.id);
    if (device.kind != DeviceKind::kNeuron) continue;
    are_named = true;
    if (device.cores.empty()) continue;
    for (const NeuronDevice* one : found) {
      if (!HasCore(*one, device.cores.front())) continue;
      places[device.id] = one->index;
      if (device.name.empty()) device.name = one->chip;
    }
  }
  if (are_named) return places;
  for (const NeuronDevice* one : found) {
    Device device{.id = "neuron" + std::to_string(one->index), .kind = DeviceKind::kNeuron};
    if (!taken.insert(device.id).second) continue;  // the configuration calls another device so
    device.name = NeuronDeviceName(*one);
    for (const NeuronLogicalCore& core : one->cores) device.cores.push_back(core.number);
    places[device.id] = one->index;
    devices.push_back(std::move(device));
  }
  return places;
}

namespace {

// As the vendor's own default: shorter ones are said to load the device.
constexpr int32_t kMonitorPeriodS = 5;
// Who looks at devices looks again.
constexpr int64_t kMonitorForNs = 30 * kNanosPerSecond;
// Of two periods one report may be missing.
constexpr int64_t kReportCountsNs = 2 * kMonitorPeriodS * kNanosPerSecond;
// Its first report may take as long as its start.
constexpr int64_t kFirstReportNs = 3 * kNanosPerSecond;
// neuron-ls is a process of its own; one that has hung is left alone for longer.
constexpr int64_t kListEveryNs = 5 * kNanosPerSecond;
constexpr int64_t kListHungEveryNs = 60 * kNanosPerSecond;
// A driver is often loaded in the first minutes of a node.
constexpr int64_t kFirstNeuronLookNs = 5 * kNanosPerSecond;
constexpr int64_t kLongestNeuronLookNs = 300 * kNanosPerSecond;
// Of devices that were found and cannot be asked now.
constexpr int64_t kFirstTryNs = kNanosPerSecond;
constexpr int64_t kLongestTryNs = 30 * kNanosPerSecond;

int64_t Pause(int64_t first_ns, int failures, int64_t longest_ns) {
  return std::min(first_ns << std::min(failures, 10), longest_ns);
}

// Which of the programs or devices is not there is nothing to worry about on a node without Neuron devices.
bool IsAbsence(const Status& status) {
  return status.ok() || status.code() == ErrorCode::kToolMissing;
}

Status NoneTellsOfIt() {
  return Fail(ErrorCode::kNotFound, "look at the Neuron devices", "neither neuron-ls nor the driver's files tell of it",
              "see whether the driver is loaded: lsmod | grep neuron, ls /dev/neuron*");
}

}  // namespace

NeuronDevices::NeuronDevices(IoLoop& loop, NeuronLink::Settings settings, Events events)
    : loop_(loop),
      events_(std::move(events)),
      link_(loop, std::move(settings),
            {.told = [this](const NeuronView& view) { OnView(view); },
             .lost = [this](const Status& why) { OnTrouble(why); }}) {}

void NeuronDevices::Begin(std::function<void()> settled) {
  settled_ = std::move(settled);
  LookAgain();
}

void NeuronDevices::LookAgain() {
  KPROF_ON_IO_LOOP(loop_);
  Ask(true);
}

void NeuronDevices::Ask(bool lists) {
  if (asking_) {
    ask_again_ = true;
    listing_wanted_ = listing_wanted_ || lists;
    return;
  }
  asking_ = true;
  if (lists) listed_mono_ns_ = loop_.clock().mono_ns();
  link_.Ask(lists, [this, lists](Result<NeuronView> view) { OnAnswer(lists, std::move(view)); });
}

void NeuronDevices::OnAnswer(bool listed, Result<NeuronView> view) {
  asking_ = false;
  if (!view.ok()) {
    OnTrouble(view.status());
  } else {
    if (listed) {
      const bool is_news = view->listing.ToString() != last_look_.ToString();
      if (is_news && !IsAbsence(view->listing)) {
        LogWarning("neuron-ls does not answer", {{"error", view->listing.ToString()}});
      }
      last_look_ = view->listing;
      listing_hangs_ = view->listing.code() == ErrorCode::kTimedOut;
    }
    fruitless_looks_ = listed && view->devices.empty() ? fruitless_looks_ + 1 : 0;
    OnView(*view);
    if (listed) LookAgainLater();
    // Without a device it has nothing to do until then.
    if (devices_.empty() && !ask_again_) link_.Rest();
  }
  if (!ask_again_) FinishCounting();
  if (auto settled = std::exchange(settled_, nullptr)) settled();
  if (std::exchange(ask_again_, false)) Ask(std::exchange(listing_wanted_, false));
}

// Those that are well are looked for seldom; those that are not, often.
void NeuronDevices::LookAgainLater() {
  int64_t pause_ns =
      devices_.empty() ? Pause(kFirstNeuronLookNs, fruitless_looks_ - 1, kLongestNeuronLookNs) : kLongestNeuronLookNs;
  const bool all_are_well = std::all_of(devices_.begin(), devices_.end(),
                                        [](const auto& one) { return one.second.health == DeviceHealth::kOk; });
  if (!all_are_well) pause_ns = listing_hangs_ ? kListHungEveryNs : kLongestTryNs;
  look_again_ = loop_.After(pause_ns, [this] { LookAgain(); });
}

// There is no worker, or none that answers.
void NeuronDevices::OnTrouble(const Status& why) {
  if (last_look_.ToString() != why.ToString())
    LogWarning("Neuron devices cannot be asked", {{"error", why.ToString()}});
  last_look_ = why;
  const int64_t pause_ns = devices_.empty() ? Pause(kFirstNeuronLookNs, fruitless_looks_, kLongestNeuronLookNs)
                                            : Pause(kFirstTryNs, fruitless_looks_, kLongestTryNs);
  ++fruitless_looks_;
  look_again_ = loop_.After(pause_ns, [this] { LookAgain(); });
  const DeviceHealth health = why.code() == ErrorCode::kTimedOut ? DeviceHealth::kUnresponsive : DeviceHealth::kFailed;
  for (const auto& [index, one] : devices_) SetHealth(index, health, why);
  FinishWaiting();
  FinishCounting();
}

void NeuronDevices::OnView(const NeuronView& view) {
  std::set<int> told;
  for (const NeuronDevice& device : view.devices) {
    told.insert(device.index);
    Take(device, view);
  }
  for (const auto& [index, one] : devices_) {
    if (!told.contains(index)) Missed(index, view);
  }
  if (!ReportIsOwed(view)) FinishWaiting();
}

void NeuronDevices::Take(NeuronDevice device, const NeuronView& view) {
  const int index = device.index;
  // What is worth knowing beside what there is. That the tools are not installed is no trouble of a device's.
  for (const Status* status : {&view.listing, &view.monitor}) {
    if (!status->ok()) device.notes.push_back(status->ToString());
  }
  const bool is_new = !devices_.contains(index);
  One& one = devices_[index];
  // Nobody tells who uses it now.
  if (!view.listing.ok() && !view.reported) {
    device.processes = one.facts.processes;
    device.users_mono_ns = one.facts.users_mono_ns;
  }
  const NeuronDevice before = std::exchange(one.facts, std::move(device));
  const bool is_other = is_new || before.chip != one.facts.chip || before.cores.size() != one.facts.cores.size() ||
                        !std::equal(before.cores.begin(), before.cores.end(), one.facts.cores.begin(),
                                    [](const auto& a, const auto& b) { return a.number == b.number; });
  // A neuron-ls that hangs waits for the driver, and so would a program that uses the device.
  const bool hangs = view.listing.code() == ErrorCode::kTimedOut;
  const DeviceHealth health = hangs ? DeviceHealth::kUnresponsive : DeviceHealth::kOk;
  const Status why = hangs ? view.listing : OkStatus();
  const bool is_changed = one.health != health || one.trouble.ToString() != why.ToString();
  one.health = health;
  one.trouble = why;
  if ((is_other || is_changed) && events_.changed) events_.changed(index);
  if (!is_new && events_.befell) {
    for (const NeuronChange& change : ChangesOf(before, one.facts)) events_.befell(index, change);
  }
  if (events_.told) events_.told(index, one.facts);
}

void NeuronDevices::Missed(int index, const NeuronView& view) {
  if (IsAbsence(view.listing)) return SetHealth(index, DeviceHealth::kLost, NoneTellsOfIt());
  const bool hangs = view.listing.code() == ErrorCode::kTimedOut;
  SetHealth(index, hangs ? DeviceHealth::kUnresponsive : DeviceHealth::kFailed, view.listing);
}

void NeuronDevices::SetHealth(int index, DeviceHealth health, const Status& why) {
  One& one = devices_[index];
  if (one.health == health && one.trouble.ToString() == why.ToString()) return;
  one.health = health;
  one.trouble = why;
  if (events_.changed) events_.changed(index);
}

void NeuronDevices::Refresh(std::function<void()> done) {
  KPROF_ON_IO_LOOP(loop_);
  waiting_.push_back(std::move(done));
  MonitorForAWhile();
  Ask(ListingIsDue());
}

void NeuronDevices::TellNow(std::function<void()> done) {
  KPROF_ON_IO_LOOP(loop_);
  counting_.push_back(std::move(done));
  Ask(false);
}

// Not beside a measurement, as long as neuron-monitor says who uses the devices.
bool NeuronDevices::ListingIsDue() const {
  const int64_t now_ns = loop_.clock().mono_ns();
  const bool is_reported = std::any_of(devices_.begin(), devices_.end(), [&](const auto& one) {
    return one.second.facts.reported_mono_ns > now_ns - kReportCountsNs;
  });
  if (is_watched_ && is_reported) return false;
  const int64_t age_ns = now_ns - listed_mono_ns_;
  return age_ns >= (listing_hangs_ ? kListHungEveryNs : kListEveryNs);
}

void NeuronDevices::Watch(bool is_watched) {
  KPROF_ON_IO_LOOP(loop_);
  is_watched_ = is_watched;
  MonitorAsWanted();
}

void NeuronDevices::MonitorForAWhile() {
  if (devices_.empty()) return;
  if (!monitor_end_.pending() && !is_watched_) monitor_since_ns_ = loop_.clock().mono_ns();
  monitor_end_ = loop_.After(kMonitorForNs, [this] { MonitorAsWanted(); });
  MonitorAsWanted();
}

void NeuronDevices::MonitorAsWanted() {
  link_.MonitorFor(is_watched_ || monitor_end_.pending() ? kMonitorPeriodS : 0);
}

// Whether it is worth waiting for what neuron-monitor will say in a moment.
bool NeuronDevices::ReportIsOwed(const NeuronView& view) const {
  if (asking_ || ask_again_) return true;
  if (devices_.empty() || view.reported || !view.monitor.ok()) return false;
  return monitor_end_.pending() && loop_.clock().mono_ns() - monitor_since_ns_ < kFirstReportNs;
}

void NeuronDevices::FinishCounting() {
  for (const std::function<void()>& done : std::exchange(counting_, {})) done();
}

void NeuronDevices::FinishWaiting() {
  for (const std::function<void()>& done : std::exchange(waiting_, {})) done();
}

}  // namespace kprof
