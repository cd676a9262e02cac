#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "client/cli/text/message_json.h"
#include "client/cli/text/number_text.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/ceiling_text.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/waiting/find_run.h"

namespace kprof::cli {
namespace {

constexpr int64_t kBenchmarkTailBytes = 64 << 10;
constexpr int kPerMille = 1000;

std::string NameOf(const v1::Peak& peak) {
  std::string name = peak.quantity();
  if (!peak.dtype().empty()) name += " " + peak.dtype();
  if (!peak.accumulate().empty()) name += ", in " + peak.accumulate();
  return name;
}

bool IsSameQuantity(const v1::Peak& one, const v1::Peak& other) {
  return one.quantity() == other.quantity() && one.dtype() == other.dtype() && one.accumulate() == other.accumulate();
}

std::string Amount(const v1::Peak& peak) {
  return NumberText(peak.value()) + (peak.unit() == "count" ? "" : " " + peak.unit());
}

// "0.902"
std::string ShareText(double part, double whole) {
  return NumberText(std::round(part / whole * kPerMille) / kPerMille);
}

bool IsAsked(const PeaksArgs& args, const v1::Device& device) {
  return args.device.empty() || args.device == device.id() || (!device.uuid().empty() && args.device == device.uuid());
}

// What was measured stands in the line of what it was measured of; where that is not known, in one of its own.
void AddRows(const v1::Device& device, Table& table) {
  for (const v1::Peak& peak : device.peaks()) {
    const v1::Peak* measured = nullptr;
    bool has_peak = false;
    for (const v1::Peak& other : device.peaks()) {
      if (!IsSameQuantity(peak, other)) continue;
      if (other.origin() == "measured") measured = &other;
      has_peak |= other.origin() != "measured";
    }
    const bool is_measured = peak.origin() == "measured";
    if (is_measured && has_peak) continue;
    std::string reached = measured == nullptr ? "" : Amount(*measured);
    if (measured != nullptr && !is_measured) reached += " (" + ShareText(measured->value(), peak.value()) + ")";
    table.AddRow({device.id(), NameOf(peak), is_measured ? "" : Amount(peak), reached, peak.confidence(), peak.origin(),
                  peak.source()});
  }
}

void WritePeaksTable(const v1::ListDevicesResponse& devices, const PeaksArgs& args, Output& output) {
  Table table({{"DEVICE"}, {"QUANTITY"}, {"PEAK", Align::kRight}, {"REACHED"}, {"CONFIDENCE"}, {"ORIGIN"}, {"SOURCE"}},
              output.ResultWidth(), [&output](std::string_view line) { output.Write(line); });
  for (const v1::Device& device : devices.devices()) {
    if (IsAsked(args, device)) AddRows(device, table);
  }
  table.Finish();
}

std::string PeaksJsonLine(const v1::ListDevicesResponse& devices, const PeaksArgs& args) {
  return JsonLine("kprof.peaks.v1", [&](JsonWriter& json) {
    json.Key("peaks").BeginArray();
    for (const v1::Device& device : devices.devices()) {
      if (!IsAsked(args, device)) continue;
      for (const v1::Peak& peak : device.peaks()) {
        json.BeginObject().Key("device").String(device.id());
        WriteFields(json, peak);
        json.EndObject();
      }
    }
    json.EndArray();
  });
}

// What the run's benchmark says it has reached.
Result<std::string> SaidBy(KprofClient& client, const v1::Run& run) {
  v1::ReadLogRequest request;
  request.set_id(run.id());
  request.set_stream(v1::OUTPUT_STREAM_STDOUT);
  request.set_offset_bytes(std::max<int64_t>(0, run.stdout_bytes() - run.stdout_dropped_bytes() - kBenchmarkTailBytes));
  std::string printed;
  RETURN_IF_ERROR(client.ReadLog(request, [&](const v1::ReadLogResponse& piece) {
    printed += piece.data();
    return OkStatus();
  }));
  if (std::optional<std::string> said = LastCeilingIn(printed)) return *said;
  return Fail(ErrorCode::kBadInput, "record a ceiling of run " + run.id(),
              "its standard output has no line such as 'kprof-ceiling: 3021.5 GB/s'",
              "have the benchmark print one, or say the number with --value");
}

}  // namespace

Status RunVerb(const PeaksArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client->ListDevices());
  bool is_there = args.device.empty();
  for (const v1::Device& device : devices.devices()) is_there |= IsAsked(args, device);
  if (!is_there) {
    return Fail(ErrorCode::kNotFound, "list peaks", "this node has no device '" + args.device + "'",
                "see kprofctl devices");
  }
  if (context.global.json) {
    context.output.Write(PeaksJsonLine(devices, args));
  } else {
    WritePeaksTable(devices, args, context.output);
  }
  return OkStatus();
}

Status RunVerb(const RecordCeilingArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(const CeilingKind kind, CeilingKindOf(args.of));
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::Run run, FindRun(*client, args.run, "record a ceiling of run"));
  std::string said = args.value;
  if (said.empty()) {
    ASSIGN_OR_RETURN(said, SaidBy(*client, run));
  }
  const std::optional<CeilingText> number = ParseCeiling(said);
  if (!number) {
    return Fail(ErrorCode::kBadInput, "record a ceiling of run " + run.id(), "'" + said + "' is no number with a unit",
                "give it as '3021.5 GB/s'");
  }
  v1::RecordCeilingRequest request;
  request.set_run_id(run.id());
  request.set_quantity(kind.quantity);
  request.set_dtype(kind.dtype);
  request.set_accumulate(kind.accumulate);
  request.set_value(number->value);
  request.set_unit(number->unit.empty() ? kind.unit : number->unit);
  ASSIGN_OR_RETURN(const v1::RecordCeilingResponse recorded, client->RecordCeiling(request));
  if (context.global.json) {
    context.output.Write(JsonLine("kprof.ceiling.v1", [&](JsonWriter& json) { WriteFields(json, recorded); }));
    return OkStatus();
  }
  std::string line =
      "device " + recorded.device_id() + ": " + NameOf(recorded.ceiling()) + " reached " + Amount(recorded.ceiling());
  if (recorded.has_peak()) {
    line += ", " + ShareText(recorded.ceiling().value(), recorded.peak().value()) + " of its peak of " +
            Amount(recorded.peak()) + " (" + recorded.peak().origin() + ")";
  }
  context.output.Write(TerminalText(line) + "\n");
  return OkStatus();
}

Status RunVerb(const ForgetCeilingsArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ForgetCeilingsResponse forgotten, client->ForgetCeilings(args.device));
  if (context.global.json) {
    context.output.Write(JsonLine("kprof.ceilings_forgotten.v1", [&](JsonWriter& json) {
      json.Key("device").String(args.device);
      WriteFields(json, forgotten);
    }));
    return OkStatus();
  }
  context.output.Write("device " + TerminalText(args.device) + ": " + std::to_string(forgotten.forgotten()) +
                       (forgotten.forgotten() == 1 ? " ceiling is" : " ceilings are") + " forgotten\n");
  return OkStatus();
}

}  // namespace kprof::cli
