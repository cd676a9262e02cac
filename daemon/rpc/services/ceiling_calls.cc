#include "daemon/rpc/services/ceiling_calls.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/devices/node_devices.h"
#include "daemon/rpc/messages/peak_message.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/ceiling_book.h"
#include "daemon/runs/object_lookup.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kAnswerLimitNs = 2 * kNanosPerSecond;
// Reasons for distrust that are about what was printed, and not about the device.
constexpr std::string_view kOfLogs = "output_dropped";
constexpr const char* kRunAgain = "run the benchmark by itself: kprofctl capture command --device 0 --exclusive -- CMD";

// The one device that the run had, as it is now.
Result<Device> DeviceOf(const ServiceContext& parts, const RunRow& run, const std::string& act) {
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
  if (run.ended_ns.value_or(0) < parts.node.started_unix_ns) {
    return refuse("it ended before this kprofd was started, and its device may have had another number then",
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

// Whole: in MIG mode what ran had a part of it.
Status CheckWhole(const Device& device, const DeviceFacts& facts, int64_t now_ns, const std::string& act) {
  if (device.kind != DeviceKind::kNvidia) return OkStatus();
  const bool has_answered = facts.nvidia_sample && facts.nvidia_sample->mono_ns >= now_ns - 2 * kAnswerLimitNs;
  if (facts.health != DeviceHealth::kOk || !has_answered || !facts.nvidia || !facts.nvidia_state) {
    return Fail(ErrorCode::kUsage, act, "the device does not say who it is, and whether it is in MIG mode",
                "see kprofctl devices for why, and record it when it answers");
  }
  if (!facts.nvidia_state->mig.value_or(false)) return OkStatus();
  return Fail(ErrorCode::kUsage, act, "the device is in MIG mode, and what ran there had a part of it",
              "measure it while MIG is off: parts have their share of the device's peaks");
}

// "power_capped, device_shared"; empty: there is nothing against it.
std::string DoubtsOf(const RunRow& run) {
  std::string doubts;
  for (const TrustReason& reason : run.trust) {
    const bool is_said = doubts.find(reason.code) != std::string::npos;
    if (reason.code != kOfLogs && !is_said) doubts += (doubts.empty() ? "" : ", ") + reason.code;
  }
  return doubts;
}

DeviceFacts FactsOf(const ServiceContext& parts, const Device& device) {
  if (parts.node_devices == nullptr) return {};
  Result<DeviceFacts> facts = parts.node_devices->FactsOf(device.id);
  return facts.ok() ? *std::move(facts) : DeviceFacts();
}

AuditEntry EntryOf(const ServiceContext& parts, const Caller& caller, const char* action, const Device& device) {
  AuditEntry entry;
  entry.time_ns = parts.clock.unix_ns();
  entry.by = ActorOf(caller);
  entry.action = action;
  entry.devices = {device.id};
  return entry;
}

void RecordOfRun(const ServiceContext& parts, const Caller& caller, const RunRow& run,
                 const v1::RecordCeilingRequest& request, v1::RecordCeilingResponse& response, const EndCall& end) {
  const std::string act = "record a ceiling of run " + run.id;
  if (parts.ceilings == nullptr || parts.peaks == nullptr) {
    return end(Fail(ErrorCode::kUsage, act, "this kprofd knows of no peaks"));
  }
  const Result<Device> device = DeviceOf(parts, run, act);
  if (!device.ok()) return end(device.status());
  const DeviceFacts facts = FactsOf(parts, *device);
  if (const Status whole = CheckWhole(*device, facts, parts.clock.mono_ns(), act); !whole.ok()) return end(whole);
  CeilingRow row{.device = CeilingBook::KeyOf(*device, facts),
                 .quantity = request.quantity(),
                 .dtype = request.dtype(),
                 .accumulate = request.accumulate(),
                 .unit = request.unit(),
                 .value = request.value(),
                 .run_id = run.id,
                 .uid = caller.uid,
                 .time_ns = parts.clock.unix_ns(),
                 .clocks = run.clocks,
                 .doubts = DoubtsOf(run)};
  const MeasuredCeiling ceiling = CeilingBook::CeilingOf(row);
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

void RecordCeiling(const ServiceContext& parts, const Caller& caller, const v1::RecordCeilingRequest& request,
                   v1::RecordCeilingResponse& response, EndCall end) {
  LookUpRun(parts, caller, request.run_id(), Rpc::kRecordCeiling, "record a ceiling of run",
            [&parts, caller, &request, &response, end = std::move(end)](const Result<RunRow>& run) {
              if (!run.ok()) return end(run.status());
              // Whether the device is whole, and who it is, is to be of now.
              const auto record = [&parts, caller, run = *run, &request, &response, end] {
                RecordOfRun(parts, caller, run, request, response, end);
              };
              parts.node_devices == nullptr ? record() : parts.node_devices->Refresh(kAnswerLimitNs, record);
            });
}

void ForgetCeilings(const ServiceContext& parts, const Caller& caller, const v1::ForgetCeilingsRequest& request,
                    v1::ForgetCeilingsResponse& response, EndCall end) {
  parts.loop.Post([&parts, caller, &request, &response, end = std::move(end)] {
    const std::string act = "forget the ceilings of device '" + ReadableText(request.device_id()) + "'";
    const std::shared_ptr<const DeviceList> list = parts.devices.now();
    for (const Device& device : list->all()) {
      if (device.id != request.device_id() && (device.uuid.empty() || device.uuid != request.device_id())) continue;
      const std::string key = CeilingBook::KeyOf(device, FactsOf(parts, device));
      const size_t known = parts.ceilings == nullptr ? 0 : parts.ceilings->Of(key).size();
      if (known == 0) return end(Fail(ErrorCode::kNotFound, act, "none are known", "see kprofctl peaks"));
      response.set_forgotten(static_cast<int32_t>(known));
      return parts.ceilings->Forget(key, EntryOf(parts, caller, audit::kCeilingForgotten, device), end);
    }
    end(Fail(ErrorCode::kNotFound, act, "this node has no such device", "see kprofctl devices"));
  });
}

}  // namespace kprof
