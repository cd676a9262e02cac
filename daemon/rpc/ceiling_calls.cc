#include "daemon/rpc/ceiling_calls.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/devices/node_devices.h"
#include "daemon/rpc/audited_calls.h"
#include "daemon/rpc/peak_message.h"
#include "daemon/rpc/run_lookup.h"
#include "daemon/runs/ceiling_book.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr const char* kRunAgain = "run the benchmark by itself: kprofctl capture command --device 0 --exclusive -- CMD";

// The one device that the run had, as it is now.
Result<Device> DeviceOf(const RpcParts& parts, const RunRow& run, const std::string& act) {
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    return Fail(ErrorCode::kUsage, act, why, remedy);
  };
  if (run.state != RunState::kDone) {
    return refuse("it is " + std::string(RunStateName(run.state)) + ", and only what ended well has reached anything",
                  kRunAgain);
  }
  if (run.devices.size() != 1) {
    return refuse("it had " + std::to_string(run.devices.size()) + " devices, and a ceiling is one device's",
                  kRunAgain);
  }
  const std::shared_ptr<const DeviceList> list = parts.devices.now();
  for (const Device& device : list->all()) {
    if (device.id != run.devices.front()) continue;
    if (device.kind == DeviceKind::kCpu) return refuse("it had the host's processors, which have no peaks", kRunAgain);
    return device;
  }
  return Fail(ErrorCode::kNotFound, act, "this node has no device '" + run.devices.front() + "' any more",
              "see kprofctl devices");
}

DeviceFacts FactsOf(const RpcParts& parts, const Device& device) {
  if (parts.node_devices == nullptr) return {};
  Result<DeviceFacts> facts = parts.node_devices->FactsOf(device.id);
  return facts.ok() ? *std::move(facts) : DeviceFacts();
}

AuditEntry EntryOf(const RpcParts& parts, const Caller& caller, const char* action, const Device& device) {
  AuditEntry entry;
  entry.time_ns = parts.clock.unix_ns();
  entry.by = ActorOf(caller);
  entry.action = action;
  entry.devices = {device.id};
  return entry;
}

void RecordOfRun(const RpcParts& parts, const Caller& caller, const RunRow& run,
                 const v1::RecordCeilingRequest& request, v1::RecordCeilingResponse& response, const EndCall& end) {
  const std::string act = "record a ceiling of run " + run.id;
  if (parts.ceilings == nullptr || parts.peaks == nullptr) {
    return end(Fail(ErrorCode::kUsage, act, "this kprofd knows of no peaks"));
  }
  const Result<Device> device = DeviceOf(parts, run, act);
  if (!device.ok()) return end(device.status());
  const DeviceFacts facts = FactsOf(parts, *device);
  if (facts.nvidia_state && facts.nvidia_state->mig.value_or(false)) {
    return end(Fail(ErrorCode::kUsage, act, "the device is in MIG mode, and what ran there had a part of it",
                    "measure it while MIG is off: parts have their share of the device's peaks"));
  }
  CeilingRow row{CeilingBook::KeyOf(*device),
                 request.quantity(),
                 request.dtype(),
                 request.accumulate(),
                 request.unit(),
                 request.value(),
                 run.id,
                 caller.uid,
                 parts.clock.unix_ns()};
  const MeasuredCeiling ceiling{row.quantity, row.dtype, row.accumulate, row.value, row.unit, row.run_id, row.time_ns};
  const DevicePeaks known = PeaksOf(*device, facts, *parts.peaks, {});
  const Result<DevicePeaks> with = WithMeasuredCeiling(known, ceiling);
  if (!with.ok()) return end(with.status());
  response.set_device_id(device->id);
  FillPeak(with->peaks.back(), *response.mutable_ceiling());
  if (const Peak* peak = known.Find(row.quantity, row.dtype, row.accumulate)) FillPeak(*peak, *response.mutable_peak());
  AuditEntry entry = EntryOf(parts, caller, audit::kCeiling, *device);
  entry.run_id = run.id;
  entry.detail = PeakText(with->peaks.back()) + ": " + PeakNumberText(row.value) + " " + row.unit;
  parts.ceilings->Record(std::move(row), std::move(entry), end);
}

}  // namespace

void RecordCeiling(const RpcParts& parts, const Caller& caller, const v1::RecordCeilingRequest& request,
                   v1::RecordCeilingResponse& response, EndCall end) {
  LookUpRun(parts, caller, request.run_id(), Rpc::kRecordCeiling, "record a ceiling of run",
            [&parts, caller, &request, &response, end = std::move(end)](const Result<RunRow>& run) {
              if (!run.ok()) return end(run.status());
              RecordOfRun(parts, caller, *run, request, response, end);
            });
}

void ForgetCeilings(const RpcParts& parts, const Caller& caller, const v1::ForgetCeilingsRequest& request,
                    v1::ForgetCeilingsResponse& response, EndCall end) {
  parts.loop.Post([&parts, caller, &request, &response, end = std::move(end)] {
    const std::string act = "forget the ceilings of device '" + ReadableText(request.device_id()) + "'";
    const std::shared_ptr<const DeviceList> list = parts.devices.now();
    for (const Device& device : list->all()) {
      if (device.id != request.device_id() && (device.uuid.empty() || device.uuid != request.device_id())) continue;
      const std::string key = CeilingBook::KeyOf(device);
      const size_t known = parts.ceilings == nullptr ? 0 : parts.ceilings->Of(key).size();
      if (known == 0) return end(Fail(ErrorCode::kNotFound, act, "none are known", "see kprofctl peaks"));
      response.set_forgotten(static_cast<int32_t>(known));
      return parts.ceilings->Forget(key, EntryOf(parts, caller, audit::kCeilingForgotten, device), end);
    }
    end(Fail(ErrorCode::kNotFound, act, "this node has no such device", "see kprofctl devices"));
  });
}

}  // namespace kprof
