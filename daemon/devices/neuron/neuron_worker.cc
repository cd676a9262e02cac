#include "daemon/devices/neuron/neuron_worker.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <set>
#include <stop_token>
#include <utility>
#include <variant>

#include "daemon/launch/process_table.h"
#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

constexpr int kListDeadlineMs = 4000;
constexpr int kWriteWaitMs = 10'000;  // for a kprofd that has no time to read
// Of the time that is measured in, reading the driver's files takes one part in so many.
constexpr int64_t kTreeShare = 200;
constexpr int64_t kFirstMonitorPauseNs = kNanosPerSecond;
constexpr int64_t kLongestMonitorPauseNs = 30 * kNanosPerSecond;
// Within the time in which kprofd hears something of a worker that is well (worker_channel.h).
constexpr int64_t kSilentPeriods = 3;
constexpr int64_t kLeastSilenceNs = 15 * kNanosPerSecond;
constexpr int kLinesAtOnce = 64;

// Of a tree at its usual place, in any sysfs.
std::string ModuleFolderOf(const std::string& tree) {
  return tree + "/../../../module/neuron";
}
std::string DmiFolderOf(const std::string& tree) {
  return tree.substr(0, tree.find_last_of('/')) + "/dmi/id";
}

}  // namespace

void NeuronWorker::Run() {
  while (true) {
    pollfd waits[2] = {{channel_.get(), POLLIN, 0}, {monitor_ ? monitor_->fd() : -1, POLLIN, 0}};
    const int ready = ::poll(waits, 2, WaitMs());
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0 && waits[0].revents != 0 && !Receive()) return;
    HearMonitor();
    if (period_s_ > 0 && !monitor_ && clock_.mono_ns() >= monitor_due_ns_) StartMonitor();
  }
}

bool NeuronWorker::Receive() {
  Packet packet;
  const int error = ReceivePacket(channel_.get(), kNeuronPacketLimitBytes, packet);
  if (error == EAGAIN || error == EINTR) return true;
  if (error != 0 || packet.end || packet.cut) return false;
  Result<NeuronPacket> request = DecodeNeuronPacket(packet.bytes);
  if (!request.ok()) return false;
  if (const auto* ask = std::get_if<NeuronAsk>(&request->message)) {
    Ask(request->tag, ask->lists);
  } else if (const auto* monitor = std::get_if<NeuronMonitorFor>(&request->message)) {
    MonitorFor(monitor->period_s);
    Tell(request->tag, NeuronDone());
  } else {
    return false;
  }
  return true;
}

void NeuronWorker::Ask(uint32_t tag, bool lists) {
  if (lists) List();
  ReadTree();
  TellAll(tag);
}

void NeuronWorker::List() {
  // One that hangs in the driver is not helped by another beside it.
  if (HasGivenUpChildren()) {
    listing_ = Fail(ErrorCode::kTimedOut, "ask neuron-ls", "one that was started before hangs in the Neuron driver",
                    "see dmesg for what the driver says; a driver that hangs wants a reboot");
    return;
  }
  Result<NeuronInventory> inventory = RunNeuronLs(places_.tools, &own_, kListDeadlineMs, std::stop_token());
  listing_ = inventory.status();
  if (!inventory.ok()) return;
  inventory_ = *std::move(inventory);
  listed_ns_ = clock_.mono_ns();
  AskForInstance();
}

// The list may not have it; a failure is no matter, others may tell the chip.
void NeuronWorker::AskForInstance() {
  const bool is_told = inventory_->instance_type || listed_instance_type_ ||
                       std::any_of(inventory_->devices.begin(), inventory_->devices.end(),
                                   [](const NeuronDeviceFacts& device) { return device.instance_type.has_value(); });
  if (is_told || inventory_->devices.empty() || asked_for_instance_ || HasGivenUpChildren()) return;
  asked_for_instance_ = true;
  const Result<std::optional<std::string>> told =
      AskNeuronLsForInstance(places_.tools, &own_, kListDeadlineMs, std::stop_token());
  if (told.ok()) listed_instance_type_ = *told;
}

void NeuronWorker::ReadTree() {
  const int64_t begun_ns = clock_.mono_ns();
  page_.Begin("a read of the Neuron driver's files");
  tree_ = ReadNeuronSysfs(places_.tree, ModuleFolderOf(places_.tree));
  if (!dmi_instance_type_) dmi_instance_type_ = ReadDmiInstanceType(DmiFolderOf(places_.tree));
  page_.End();
  const int64_t ended_ns = clock_.mono_ns();
  tree_due_ns_ = begun_ns + std::max((ended_ns - begun_ns) * kTreeShare, kNanosPerSecond);
}

// Children that are waited for no more, as they could not be killed.
bool NeuronWorker::HasGivenUpChildren() const {
  for (const pid_t pid : ListChildren().pids) {
    if (own_.Has(pid)) continue;
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == 0) return true;
  }
  return false;
}

void NeuronWorker::MonitorFor(int period_s) {
  if (period_s == period_s_) return;
  period_s_ = period_s;
  monitor_.reset();
  report_.reset();
  monitor_trouble_ = OkStatus();
  monitor_failures_ = 0;
  monitor_due_ns_ = 0;
}

void NeuronWorker::StartMonitor() {
  if (HasGivenUpChildren()) {
    LoseMonitor(Fail(ErrorCode::kTimedOut, "start neuron-monitor", "a tool that was started before hangs in the driver",
                     "see dmesg for what the driver says"));
    return;
  }
  ::mkdir(places_.config_folder.c_str(), 0700);  // where that fails, writing into it does
  Result<NeuronMonitorProcess> monitor = NeuronMonitorProcess::Start(
      {.place = places_.tools, .config_folder = places_.config_folder, .period_s = period_s_, .own = &own_});
  if (!monitor.ok()) return LoseMonitor(monitor.status());
  monitor_.emplace(*std::move(monitor));
  monitor_heard_ns_ = clock_.mono_ns();
}

void NeuronWorker::HearMonitor() {
  bool has_reported = false;
  for (int lines = 0; monitor_ && lines < kLinesAtOnce; ++lines) {
    Result<std::optional<NeuronReport>> heard = monitor_->Next(0);
    if (!heard.ok() && monitor_->ended()) return LoseMonitor(heard.status());
    if (heard.ok() && !*heard) break;
    monitor_heard_ns_ = clock_.mono_ns();
    monitor_trouble_ = heard.status();
    if (!heard.ok()) continue;
    report_ = **std::move(heard);
    reported_ns_ = monitor_heard_ns_;
    monitor_failures_ = 0;
    has_reported = true;
  }
  if (has_reported) {
    if (clock_.mono_ns() >= tree_due_ns_) ReadTree();
    return TellAll(0);
  }
  const int64_t patience_ns = std::max(kSilentPeriods * period_s_ * kNanosPerSecond, kLeastSilenceNs);
  if (!monitor_ || clock_.mono_ns() - monitor_heard_ns_ < patience_ns) return;
  LoseMonitor(Fail(ErrorCode::kTimedOut, "hear from neuron-monitor",
                   "it has said nothing for " + std::to_string(patience_ns / kNanosPerSecond) + " s",
                   "see whether the Neuron driver hangs: run neuron-monitor by hand"));
}

// What it has said is not of now any more.
void NeuronWorker::LoseMonitor(const Status& why) {
  monitor_.reset();
  report_.reset();
  monitor_trouble_ = why;
  monitor_due_ns_ =
      clock_.mono_ns() + std::min(kFirstMonitorPauseNs << std::min(monitor_failures_++, 10), kLongestMonitorPauseNs);
  if (clock_.mono_ns() >= tree_due_ns_) ReadTree();
  TellAll(0);
}

int NeuronWorker::WaitMs() const {
  // One that has ended may have left somebody who keeps its output open: its end alone makes nothing readable.
  if (monitor_) return 1000;
  if (period_s_ == 0) return -1;
  return static_cast<int>(std::clamp<int64_t>((monitor_due_ns_ - clock_.mono_ns()) / kNanosPerMilli + 1, 0, INT_MAX));
}

NeuronSources NeuronWorker::Sources() const {
  NeuronSources sources;
  if (!tree_.devices.empty()) sources.sysfs = tree_;
  sources.report = report_;
  sources.listed_instance_type = listed_instance_type_;
  sources.dmi_instance_type = dmi_instance_type_;
  sources.configured_chip = places_.chip;
  if (!inventory_) return sources;
  sources.inventory = inventory_;
  std::set<int64_t> reported;
  if (report_) {
    for (const NeuronRuntime& runtime : report_->runtimes) reported.insert(runtime.pid.value_or(0));
  }
  const bool report_is_newer = report_ && reported_ns_ > listed_ns_;
  for (NeuronDeviceFacts& device : sources.inventory->devices) {
    // Who uses it was told by whoever was asked last.
    if (!listing_.ok()) device.processes.clear();
    if (!report_is_newer) continue;
    std::erase_if(device.processes, [&](const NeuronProcess& process) { return !reported.contains(process.pid); });
  }
  // What neuron-ls says no more is there only where the driver's files say so.
  if (listing_.ok()) return sources;
  std::erase_if(sources.inventory->devices, [&](const NeuronDeviceFacts& device) {
    return std::none_of(tree_.devices.begin(), tree_.devices.end(),
                        [&](const NeuronSysfsDevice& other) { return other.index == device.index; });
  });
  return sources;
}

void NeuronWorker::TellAll(uint32_t tag) {
  const NeuronSources sources = Sources();
  std::vector<NeuronDevice> devices = MergeNeuronDevices(sources);
  // Alone, neuron-monitor says of no device that it is there.
  std::set<int> named;
  for (const NeuronSysfsDevice& device : tree_.devices) named.insert(device.index);
  if (sources.inventory) {
    for (const NeuronDeviceFacts& device : sources.inventory->devices) named.insert(device.index);
  }
  std::erase_if(devices, [&](const NeuronDevice& device) { return !named.contains(device.index); });
  for (NeuronDevice& device : devices) {
    if (device.chip.empty()) {
      device.notes.push_back(
          "nobody tells which chip it is, so its peaks are not known: [devices] neuron_chip names it");
    }
    device.reported_mono_ns = report_ ? reported_ns_ : 0;
    device.users_mono_ns = std::max(device.reported_mono_ns, listing_.ok() ? listed_ns_ : 0);
  }
  NeuronTold told{.devices = static_cast<uint32_t>(devices.size()),
                  .has_tree = sources.sysfs.has_value(),
                  .reported = report_.has_value(),
                  .listing = TroubleOf(listing_),
                  .monitor = TroubleOf(monitor_trouble_)};
  for (NeuronDevice& device : devices) Tell(tag, std::move(device));
  Tell(tag, std::move(told));
}

void NeuronWorker::Tell(uint32_t tag, NeuronMessage message) {
  const std::string bytes = EncodeNeuronPacket({tag, std::move(message)});
  while (true) {
    const int error = SendPacket(channel_.get(), bytes);
    if (error != EAGAIN) return;  // whoever asked is gone: Receive finds out
    pollfd writable{channel_.get(), POLLOUT, 0};
    if (::poll(&writable, 1, kWriteWaitMs) == 0) return;
  }
}

}  // namespace kprof
