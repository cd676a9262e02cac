#include "daemon/devices/quiet_wait.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace kprof {
namespace {

constexpr uint32_t kBusyPercent = 5;
constexpr size_t kMostNamed = 4;
constexpr size_t kMostLookedUp = 64;
// What is left of nvidia-cuda-mps-server, and of -control, in a process's name, which has 15 bytes.
constexpr const char* kMpsServer = "nvidia-cuda-mps";

bool IsResident(const ForeignProcess& process) {
  return process.on_device.graphics || process.known.name == kMpsServer;
}

// By neuron-ls, and by neuron-monitor.
std::vector<DeviceProcess> NeuronProcessesOf(const NeuronDevice& device) {
  std::map<int64_t, DeviceProcess> by_pid;
  const auto add = [&](int64_t pid) {
    if (pid > 0 && pid <= std::numeric_limits<pid_t>::max()) by_pid[pid].pid = static_cast<pid_t>(pid);
  };
  for (const NeuronProcess& process : device.processes) add(process.pid);
  for (const NeuronRuntimeUse& runtime : device.runtimes) add(runtime.pid);
  std::vector<DeviceProcess> processes;
  processes.reserve(by_pid.size());
  for (const auto& [pid, process] : by_pid) processes.push_back(process);
  return processes;
}

}  // namespace

std::optional<std::vector<DeviceProcess>> ProcessesOf(const DeviceFacts& facts) {
  if (facts.neuron) return NeuronProcessesOf(*facts.neuron);
  if (!facts.nvidia_state || !facts.nvidia_state->processes) return std::nullopt;
  std::map<pid_t, DeviceProcess> by_pid;  // one that does both is listed twice
  for (const NvidiaProcess& process : *facts.nvidia_state->processes) {
    const auto pid = static_cast<pid_t>(process.pid);
    const auto [place, is_new] = by_pid.try_emplace(pid, DeviceProcess{pid, process.graphics, process.memory_bytes});
    if (is_new) continue;
    place->second.graphics &= process.graphics;
    if (process.memory_bytes > place->second.memory_bytes) place->second.memory_bytes = process.memory_bytes;
  }
  std::vector<DeviceProcess> processes;
  processes.reserve(by_pid.size());
  for (const auto& [pid, process] : by_pid) processes.push_back(process);
  return processes;
}

ForeignProcesses FindForeign(const DeviceFacts& facts, const std::function<bool(pid_t)>& is_own,
                             const std::string& proc_root) {
  ForeignProcesses foreign;
  const std::optional<std::vector<DeviceProcess>> processes = ProcessesOf(facts);
  bool is_in_use = false;
  for (const DeviceProcess& process : processes.value_or(std::vector<DeviceProcess>())) {
    if (is_own(process.pid)) {
      is_in_use |= !process.graphics;
      continue;
    }
    ForeignProcess one{process, {.pid = process.pid}};
    const bool is_looked_up = foreign.users.size() + foreign.residents.size() < kMostLookedUp;
    if (is_looked_up) one.known = ReadKnownProcess(process.pid, proc_root);
    (IsResident(one) ? foreign.residents : foreign.users).push_back(std::move(one));
  }
  is_in_use |= !foreign.users.empty();
  const uint32_t percent = facts.nvidia_sample ? facts.nvidia_sample->gpu_percent.value_or(0) : 0;
  foreign.is_busy = !is_in_use && percent >= kBusyPercent;
  return foreign;
}

std::string WhoIsThere(const ForeignProcesses& foreign, UserNames& users) {
  std::vector<ForeignProcess> there = foreign.users;
  if (foreign.is_busy) there.insert(there.end(), foreign.residents.begin(), foreign.residents.end());
  if (there.empty()) return foreign.is_busy ? "somebody of whom the driver does not tell" : "";
  std::string text;
  for (size_t i = 0; i < std::min(there.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + KnownAs(there[i].known, users);
  }
  if (there.size() > kMostNamed) text += " and " + std::to_string(there.size() - kMostNamed) + " more";
  return text;
}

namespace {

constexpr int64_t kAnswerLimitNs = 2 * kNanosPerSecond;
// Neuron's tools are programs, and tell every few seconds.
constexpr int64_t kToolsAnswerLimitNs = 5 * kNanosPerSecond;
// What a device told so long before it was asked counts: who asks while others wait is answered with them.
constexpr int64_t kNewsNs = kAnswerLimitNs;
constexpr int64_t kToolsNewsNs = 7 * kNanosPerSecond;

bool IsToldByTools(const NodeDevices& devices, const std::vector<std::string>& ids) {
  return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
    const Result<DeviceFacts> facts = devices.FactsOf(id);
    return facts.ok() && facts->neuron;
  });
}

}  // namespace

QuietWait::QuietWait(IoLoop& loop, NodeDevices& devices, UserNames& users, Wish wish, Done done)
    : loop_(loop),
      devices_(devices),
      users_(users),
      wish_(std::move(wish)),
      done_(std::move(done)),
      since_mono_ns_(loop.clock().mono_ns()) {
  KPROF_ON_IO_LOOP(loop_);
  again_ = loop_.After(0, [this] { Ask(); });
}

void QuietWait::Ask() {
  asked_mono_ns_ = loop_.clock().mono_ns();
  const int64_t limit_ns = IsToldByTools(devices_, wish_.device_ids) ? kToolsAnswerLimitNs : kAnswerLimitNs;
  devices_.Refresh(limit_ns, [this, alive = std::weak_ptr<bool>(is_alive_)] {
    if (!alive.expired()) Look();
  });
}

void QuietWait::Look() {
  who_.clear();
  for (const std::string& id : wish_.device_ids) {
    const Result<std::string> who = WhoIsOn(id);
    if (!who.ok()) return Finish(who.status());
    if (!who->empty()) who_ += (who_.empty() ? "" : "; ") + *who + " on device " + id;
  }
  if (who_.empty()) return Finish(OkStatus());
  const int64_t left_ns = since_mono_ns_ + wish_.limit_ns - loop_.clock().mono_ns();
  if (left_ns > 0) {
    again_ = loop_.After(std::min(left_ns, wish_.period_ns), [this] { Ask(); });
    return;
  }
  const std::string after =
      wish_.limit_ns > 0 ? ", after " + std::to_string(wish_.limit_ns / kNanosPerSecond) + " s still" : "";
  Finish(Fail(ErrorCode::kQueueTimeout, "wait for quiet devices", who_ + after,
              "have that end, or measure beside it, which the run's trust then says: leave out --exclusive"));
}

// One that does not answer may have anybody on it.
Result<std::string> QuietWait::WhoIsOn(const std::string& device_id) {
  ASSIGN_OR_RETURN(const DeviceFacts facts, devices_.FactsOf(device_id));
  const bool is_asked = facts.nvidia || facts.neuron;
  if (facts.health != DeviceHealth::kOk && is_asked) return "nobody knows who (" + facts.trouble.why() + ")";
  const bool has_news = facts.nvidia_sample && facts.nvidia_sample->mono_ns >= asked_mono_ns_ - kNewsNs;
  if (facts.nvidia && !has_news) return std::string("nobody knows who (it does not answer)");
  if (facts.neuron && facts.neuron->users_mono_ns < asked_mono_ns_ - kToolsNewsNs) {
    return std::string("nobody knows who (neither neuron-ls nor neuron-monitor tells now)");
  }
  return WhoIsThere(FindForeign(facts, wish_.is_own), users_);
}

void QuietWait::Finish(Status status) {
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(status));
}

}  // namespace kprof
