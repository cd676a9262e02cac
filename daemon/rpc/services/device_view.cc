#include "daemon/rpc/services/device_view.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/access/permissions.h"
#include "daemon/base/user_names.h"
#include "daemon/clocks/locks/device_clocks.h"
#include "daemon/devices/node_devices.h"
#include "daemon/rpc/messages/device_message.h"
#include "daemon/runs/ceiling_book.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr const char* kDevices = "devices";
constexpr const char* kClocks = "clocks";

// One that has not said who it is, and may do so yet.
bool IsStillToAnswer(const DeviceFacts& facts) {
  return facts.health == DeviceHealth::kStarting;
}

std::string CountOf(size_t accelerators) {
  return std::to_string(accelerators) + (accelerators == 1 ? " accelerator" : " accelerators");
}

// "2 accelerators, all of them well", "2 accelerators, of which 1 does not answer yet".
Diagnosis AllIsWell(size_t accelerators, size_t unanswered) {
  if (unanswered > 0) {
    return {kDevices, DiagnosisLevel::kWarning,
            CountOf(accelerators) + ", of which " + std::to_string(unanswered) + (unanswered == 1 ? " does" : " do") +
                " not answer yet",
            "ask again in some seconds; see dmesg if that stays so"};
  }
  return {kDevices,
          DiagnosisLevel::kOk,
          CountOf(accelerators) + (accelerators == 1 ? ", which is well" : ", all of them well"),
          {}};
}

// Who is not well; whose clocks are not given back yet.
void DiagnoseOne(const AcceleratorStanding& device, std::vector<Diagnosis>& found) {
  const DeviceFacts& facts = device.facts;
  if (facts.health != DeviceHealth::kOk && !IsStillToAnswer(facts)) {
    found.push_back(
        {kDevices, DiagnosisLevel::kProblem,
         "device " + device.id + " is " + std::string(DeviceHealthName(facts.health)) + ": " + facts.trouble.why(),
         facts.trouble.remedy()});
  }
  const Status& trouble = device.clocks_trouble;
  if (trouble.ok()) return;
  found.push_back(
      {kClocks, DiagnosisLevel::kProblem,
       "the clocks of device " + device.id + " are not given back yet: " + trouble.why(),
       trouble.remedy().empty() ? "it is tried again; see dmesg for what the driver says" : trouble.remedy()});
}

}  // namespace

std::vector<Diagnosis> DiagnoseAccelerators(const std::vector<AcceleratorStanding>& accelerators, bool may_lock) {
  std::vector<Diagnosis> found;
  if (accelerators.empty()) return found;
  size_t with_clocks = 0;
  size_t unanswered = 0;
  bool clocks_in_trouble = false;
  for (const AcceleratorStanding& device : accelerators) {
    clocks_in_trouble = clocks_in_trouble || !device.clocks_trouble.ok();
    if (device.facts.nvidia) ++with_clocks;
    if (IsStillToAnswer(device.facts)) ++unanswered;
    DiagnoseOne(device, found);
  }
  if (found.empty()) found.push_back(AllIsWell(accelerators.size(), unanswered));
  if (with_clocks > 0 && !may_lock) {
    found.push_back({kClocks, DiagnosisLevel::kWarning,
                     "clocks cannot be locked: that takes root, and this kprofd runs as uid " +
                         std::to_string(::geteuid()) + "; runs with --clocks lock go on unlocked",
                     "measure with the system's kprofd (docs/operations.md)"});
  } else if (with_clocks > 0 && !clocks_in_trouble) {
    found.push_back({kClocks, DiagnosisLevel::kOk, "kprofd may lock the clocks of " + CountOf(with_clocks), {}});
  }
  return found;
}

std::vector<Diagnosis> DiagnoseDevices(const ServiceContext& context) {
  if (context.node_devices == nullptr) return {};
  std::vector<AcceleratorStanding> accelerators;
  const std::shared_ptr<const DeviceList> list = context.devices.now();
  for (const Device& device : list->all()) {
    if (device.kind == DeviceKind::kCpu) continue;
    Result<DeviceFacts> facts = context.node_devices->FactsOf(device.id);
    if (!facts.ok()) continue;  // it is gone meanwhile
    const Status trouble = context.clocks == nullptr ? OkStatus() : context.clocks->TroubleOf(device.id);
    accelerators.push_back({device.id, *std::move(facts), trouble});
  }
  return DiagnoseAccelerators(accelerators, context.helper_watch != nullptr || ::geteuid() == 0);
}

namespace {

constexpr int kMostOwners = 64;  // of a device; about 10 us each

bool MaySee(const Caller& caller, Rpc rpc, const OwnedObject& object) {
  return AuthorizeObject(caller, rpc, object, "see").ok();
}

}  // namespace

void DeviceView::Fill(Detail detail, google::protobuf::RepeatedPtrField<v1::Device>& out) const {
  const std::shared_ptr<const DeviceList> list = context_.devices.now();
  for (const Device& device : list->all()) {
    v1::Device& message = *out.Add();
    message.set_id(device.id);
    message.set_kind(std::string(DeviceKindName(device.kind)));
    message.set_name(device.name);
    message.set_uuid(device.uuid);
    FillLease(device, message);
    FillFacts(device, detail, message);
  }
}

// Who may not see the holder sees that there is one.
void DeviceView::FillLease(const Device& device, v1::Device& out) const {
  out.set_queued(context_.runs.queue().CountWaitingFor(device.id));
  if (std::optional<int64_t> since_ns = context_.runs.queue().HeldSince(device.id)) {
    out.set_held_since_unix_ns(context_.clock.unix_ns() - (context_.clock.mono_ns() - *since_ns));
  }
  const std::string holder = context_.runs.queue().HolderOf(device.id);
  const SessionRow* session = context_.runs.sessions().FindOpenRow(holder);
  if (session != nullptr && MaySee(caller_, Rpc::kGetSession, {session->uid, false, "session"})) {
    out.set_session_id(holder);
    out.set_session_uid(session->uid);
  }
  const RunRow* run = context_.runs.FindOpenRow(context_.runs.RunOn(device.id));
  if (run != nullptr && MaySee(caller_, Rpc::kGetRun, {run->uid, run->shared})) {
    out.set_run_id(run->id);
    out.set_run_uid(run->uid);
  }
}

void DeviceView::FillFacts(const Device& device, Detail detail, v1::Device& out) const {
  DeviceFacts facts;
  if (context_.node_devices != nullptr) {
    if (Result<DeviceFacts> known = context_.node_devices->FactsOf(device.id); known.ok()) facts = *std::move(known);
  }
  FillDeviceHealth(facts, out);
  if (detail == Detail::kLease) return;
  FillDeviceFacts(facts, out);
  FillOwners(out);
  if (context_.clocks != nullptr && facts.nvidia) FillClocks(device.id, *out.mutable_clocks());
  if (detail != Detail::kAll || context_.peaks == nullptr) return;
  std::vector<MeasuredCeiling> ceilings;
  if (context_.ceilings != nullptr) ceilings = context_.ceilings->Of(CeilingBook::KeyOf(device, facts));
  FillPeaks(PeaksOf(device, facts, *context_.peaks, ceilings), facts, out);
}

// Whose the processes are that are on it, as far as the host tells.
void DeviceView::FillOwners(v1::Device& out) const {
  if (context_.user_names == nullptr) return;
  int looked_up = 0;
  const auto look = [&](auto& process) {
    if (++looked_up > kMostOwners) return;
    const KnownProcess known = ReadKnownProcess(static_cast<pid_t>(process.pid()));
    if (process.command().empty()) process.set_command(ReadableText(known.name));
    if (!known.uid) return;
    process.set_uid(*known.uid);
    process.set_user(ReadableText(context_.user_names->NameOf(*known.uid).value_or("")));
  };
  if (out.has_nvidia()) {
    for (v1::DeviceProcess& process : *out.mutable_nvidia()->mutable_processes()) look(process);
  }
  if (out.has_neuron()) {
    for (v1::NeuronProcess& process : *out.mutable_neuron()->mutable_processes()) look(process);
  }
}

void DeviceView::FillClocks(const std::string& device_id, v1::DeviceClocks& out) const {
  if (context_.clocks == nullptr) return;
  out.set_lockable(true);
  out.set_trouble(ReadableText(context_.clocks->TroubleOf(device_id).why()));
  const std::optional<DeviceClocks::Held> held = context_.clocks->HeldOn(device_id);
  out.set_locked(held.has_value());
  if (!held) return;
  if (held->what.held.sm_mhz) out.set_locked_sm_mhz(*held->what.held.sm_mhz);
  if (held->what.held.memory_mhz) out.set_locked_memory_mhz(*held->what.held.memory_mhz);
}

}  // namespace kprof
