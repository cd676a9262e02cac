#include "daemon/rpc/device_diagnoses.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "daemon/clocks/device_clocks.h"
#include "daemon/devices/node_devices.h"

namespace kprof {
namespace {

constexpr const char* kDevices = "devices";
constexpr const char* kClocks = "clocks";

// Who is not well; whose clocks are not given back yet.
void DiagnoseOne(const RpcParts& parts, const Device& device, const DeviceFacts& facts, std::vector<Diagnosis>& found) {
  if (facts.health != DeviceHealth::kOk && facts.health != DeviceHealth::kStarting) {
    found.push_back(
        {kDevices, DiagnosisLevel::kProblem,
         "device " + device.id + " is " + std::string(DeviceHealthName(facts.health)) + ": " + facts.trouble.why(),
         facts.trouble.remedy()});
  }
  if (parts.clocks == nullptr) return;
  const Status trouble = parts.clocks->TroubleOf(device.id);
  if (trouble.ok()) return;
  found.push_back(
      {kClocks, DiagnosisLevel::kProblem,
       "the clocks of device " + device.id + " are not given back yet: " + trouble.why(),
       trouble.remedy().empty() ? "it is tried again; see dmesg for what the driver says" : trouble.remedy()});
}

}  // namespace

std::vector<Diagnosis> DiagnoseDevices(const RpcParts& parts) {
  std::vector<Diagnosis> found;
  if (parts.node_devices == nullptr) return found;
  size_t accelerators = 0;
  size_t with_clocks = 0;
  const std::shared_ptr<const DeviceList> list = parts.devices.now();
  for (const Device& device : list->all()) {
    if (device.kind == DeviceKind::kCpu) continue;
    ++accelerators;
    const Result<DeviceFacts> facts = parts.node_devices->FactsOf(device.id);
    if (!facts.ok()) continue;
    if (facts->nvidia) ++with_clocks;
    DiagnoseOne(parts, device, *facts, found);
  }
  if (accelerators == 0) return found;
  if (found.empty()) {
    found.push_back({kDevices,
                     DiagnosisLevel::kOk,
                     accelerators == 1 ? "1 accelerator, which is well"
                                       : std::to_string(accelerators) + " accelerators, all of them well",
                     {}});
  }
  const bool has_right = parts.helper_watch != nullptr || ::geteuid() == 0;
  if (with_clocks > 0 && !has_right) {
    found.push_back({kClocks, DiagnosisLevel::kWarning,
                     "clocks cannot be locked: that takes root, and this kprofd runs as uid " +
                         std::to_string(::geteuid()) + "; runs with --clocks lock go on unlocked",
                     "measure with the system's kprofd (docs/operations.md)"});
  }
  return found;
}

}  // namespace kprof
