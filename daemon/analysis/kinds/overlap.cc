// How much communication is hidden behind computation. Docs: docs/analyses/overlap.md.
#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_times.h"
#include "daemon/analysis/functions/hta_rows.h"

namespace kprof {
namespace {

enum OverlapTable : size_t { kOverlaps };
constexpr int kHtaDigitsOfOverlap = 2;

// The time in which all the types of `mask` were at work, whatever else was.
int64_t TimeWith(const DeviceTimes& of, size_t mask) {
  int64_t sum = 0;
  for (size_t types = 1; types < of.at_once_ns.size(); ++types) {
    if ((types & mask) == mask) sum += of.at_once_ns[types];
  }
  return sum;
}

Result<AnalysisAnswer> AnswerOverlap(const AnalysisTraces& traces, const AnalysisOptions& options,
                                     const StopSignal& stop) {
  constexpr size_t kBoth = size_t{1} << static_cast<size_t>(KernelType::kCompute) |
                           size_t{1} << static_cast<size_t>(KernelType::kCommunication);
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const std::vector<DeviceTimes> times, FindDeviceTimes(traces, options, stop, answer));
  const bool is_hta = options.text("window") == "hta";
  bool has_communication = times.empty();
  for (const DeviceTimes& of : times) {
    const int64_t communication = of.of(KernelType::kCommunication);
    const int64_t overlapped = TimeWith(of, kBoth);
    has_communication |= communication != 0;
    const AnalysisValue percent =
        is_hta ? HtaPercent(overlapped, communication, kHtaDigitsOfOverlap) : PercentOf(overlapped, communication);
    RETURN_IF_ERROR(
        answer.AddRow(kOverlaps, {traces.run(of.part), ValueOf(traces.parts()[of.part].rank), ValueOf(of.device),
                                  communication, overlapped, communication - overlapped, percent,
                                  is_hta ? HtaPercent(communication - overlapped, of.whole_ns, kHtaDigitsOfOverlap)
                                         : PercentOf(communication - overlapped, of.whole_ns),
                                  of.whole_ns}));
  }
  if (!has_communication) answer.AddNote("no communication: no kernel has the name of a collective");
  return answer;
}

}  // namespace

AnalysisKind Overlap() {
  using enum AnalysisType;
  return {.name = "overlap",
          .version = 1,
          .question = "How much communication is hidden behind computation, and how much is exposed?",
          .options = {kTraceScope, kWindow},
          .tables = {{"ranks",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"device", kInteger, "", "The device"},
                       {"communication_ns", kInteger, "ns", "Communication ran"},
                       {"overlapped_ns", kInteger, "ns", "Communication ran, and computation beside it: hidden"},
                       {"exposed_ns", kInteger, "ns", "Communication ran, and no computation beside it"},
                       {"overlap_percent", kReal, "percent", "overlapped_ns of communication_ns; null where that is 0"},
                       {"exposed_percent", kReal, "percent", "exposed_ns of total_ns"},
                       {"total_ns", kInteger, "ns", "The whole: see option window"}}}},
          .answer = &AnswerOverlap};
}

}  // namespace kprof
