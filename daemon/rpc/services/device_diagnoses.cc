#include "daemon/rpc/services/device_diagnoses.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "daemon/clocks/locks/device_clocks.h"
#include "daemon/devices/node_devices.h"

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
  for (const AcceleratorStanding& device : accelerators) {
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
  }
  return found;
}

std::vector<Diagnosis> DiagnoseDevices(const ServiceContext& parts) {
  if (parts.node_devices == nullptr) return {};
  std::vector<AcceleratorStanding> accelerators;
  const std::shared_ptr<const DeviceList> list = parts.devices.now();
  for (const Device& device : list->all()) {
    if (device.kind == DeviceKind::kCpu) continue;
    Result<DeviceFacts> facts = parts.node_devices->FactsOf(device.id);
    if (!facts.ok()) continue;  // it is gone meanwhile
    const Status trouble = parts.clocks == nullptr ? OkStatus() : parts.clocks->TroubleOf(device.id);
    accelerators.push_back({device.id, *std::move(facts), trouble});
  }
  return DiagnoseAccelerators(accelerators, parts.helper_watch != nullptr || ::geteuid() == 0);
}

}  // namespace kprof
