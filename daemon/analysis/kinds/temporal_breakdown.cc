// How much of the time each device computed, did something else, or nothing. Docs: docs/analyses/temporal-breakdown.md.
#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_times.h"
#include "daemon/analysis/functions/hta_rows.h"

namespace kprof {
namespace {

enum Table : size_t { kRanks };
constexpr int kHtaDigits = 2;

Result<AnalysisAnswer> AnswerTemporalBreakdown(const AnalysisTraces& traces, const AnalysisOptions& options,
                                               const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const std::vector<DeviceTimes> times, FindDeviceTimes(traces, options, stop, answer));
  const bool is_hta = options.text("window") == "hta";
  for (const DeviceTimes& of : times) {
    const int64_t idle = of.whole_ns - of.busy_ns;
    const int64_t compute = of.of(KernelType::kCompute);
    const int64_t non_compute = of.busy_ns - compute;
    const auto percent = [&](int64_t ns) {
      return is_hta ? HtaPercent(ns, of.whole_ns, kHtaDigits) : PercentOf(ns, of.whole_ns);
    };
    if (of.is_corrected) {
      answer.AddNote(traces.NameOf(of.part) +
                     ": HTA's rounding makes slices shorter than nothing, and HTA fails on it; they count as 0");
    }
    RETURN_IF_ERROR(answer.AddRow(
        kRanks, {traces.run(of.part), ValueOf(traces.parts()[of.part].rank), ValueOf(of.device), of.whole_ns, idle,
                 compute, non_compute, percent(idle), percent(compute), percent(non_compute)}));
  }
  return answer;
}

}  // namespace

AnalysisKind TemporalBreakdown() {
  using enum AnalysisType;
  return {.name = "temporal-breakdown",
          .version = 1,
          .question = "How much of the time did a device compute, do something else, or nothing?",
          .options = {kTraceScope, kWindow},
          .tables = {{"ranks",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"device", kInteger, "", "The device"},
                       {"total_ns", kInteger, "ns", "The whole: see option window"},
                       {"idle_ns", kInteger, "ns", "Nothing ran on the device"},
                       {"compute_ns", kInteger, "ns", "A compute kernel ran, whatever else did"},
                       {"non_compute_ns", kInteger, "ns", "Only communication or copies ran"},
                       {"idle_percent", kReal, "percent", "idle_ns of total_ns"},
                       {"compute_percent", kReal, "percent", "compute_ns of total_ns"},
                       {"non_compute_percent", kReal, "percent", "non_compute_ns of total_ns"}}}},
          .answer = &AnswerTemporalBreakdown};
}

}  // namespace kprof
