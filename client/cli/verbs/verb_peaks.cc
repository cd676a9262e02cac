#include "client/cli/verbs/verb_peaks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/message_json.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/waiting/follow_run.h"

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
              output);
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

namespace {

constexpr std::string_view kMark = "kprof-ceiling:";
constexpr std::string_view kDtypes[] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4"};

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

}  // namespace

std::optional<CeilingText> ParseCeiling(std::string_view text) {
  text = Trimmed(text);
  CeilingText ceiling;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ceiling.value);
  if (error != std::errc() || !std::isfinite(ceiling.value) || ceiling.value <= 0) return std::nullopt;
  ceiling.unit = Trimmed(text.substr(static_cast<size_t>(end - text.data())));
  if (ceiling.unit.find_first_of(" \t") != std::string::npos) return std::nullopt;
  return ceiling;
}

std::optional<std::string> LastCeilingIn(std::string_view printed) {
  std::optional<std::string> last;
  while (!printed.empty()) {
    const size_t end = std::min(printed.find('\n'), printed.size());
    const std::string_view line = Trimmed(printed.substr(0, end));
    if (line.substr(0, kMark.size()) == kMark) last = std::string(Trimmed(line.substr(kMark.size())));
    printed.remove_prefix(std::min(end + 1, printed.size()));
  }
  return last;
}

Result<CeilingKind> CeilingKindOf(const std::string& what) {
  if (what == "copy") return CeilingKind{"memory_bandwidth", "", "", "GB/s"};
  if (std::find(std::begin(kDtypes), std::end(kDtypes), what) != std::end(kDtypes)) {
    return CeilingKind{"dense_rate", what, what == "fp64" ? "fp64" : "fp32", "TFLOP/s"};
  }
  return Fail(ErrorCode::kUsage, "read the command line", "--of '" + what + "' is nothing that is measured",
              "say copy, or the dtype of a matrix product: bf16, fp16, tf32, fp8, fp4, fp64");
}

}  // namespace kprof::cli
