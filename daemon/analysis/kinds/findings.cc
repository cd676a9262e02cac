// Findings, which cost time and can be helped: rules over metrics of the traces, each with its gain. Docs:
// docs/analyses/findings.md.
#include <string>
#include <utility>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/findings/trace_findings.h"
#include "daemon/analysis/functions/device_scope.h"

namespace kprof {
namespace {

enum FindingTable : size_t { kFound, kNotEvaluated };

Result<AnalysisAnswer> AnswerFindings(const AnalysisTraces& traces, const AnalysisOptions& options,
                                      const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  TraceFindings findings;
  RETURN_IF_ERROR(ForEachPartMetrics(traces, scope, stop, answer, [&](size_t part, const PartTraceMetrics& metrics) {
    findings.AddPart(traces, part, metrics);
    return OkStatus();
  }));
  findings.Close();
  for (const TraceFinding& found : findings.findings()) {
    RETURN_IF_ERROR(answer.AddRow(
        kFound, {found.run, std::string(found.rule->code), PercentOf(found.gain_ns, found.whole_ns), found.message,
                 found.command, std::string(found.rule->hint),
                 found.kernel.empty() ? AnalysisValue() : AnalysisValue(found.kernel), ValueOf(found.rank),
                 ValueOf(found.device), found.gain_ns, found.evidence, std::string(found.rule->source)}));
  }
  for (const FindingNotEvaluated& one : findings.not_evaluated()) {
    std::string missing = "[";
    for (const TraceMetric metric : one.missing) {
      missing += std::string(missing.size() == 1 ? "" : ",") + '"' + WordsOf(metric).name + '"';
    }
    RETURN_IF_ERROR(answer.AddRow(kNotEvaluated, {one.run, std::string(one.rule->code), missing + "]", one.devices}));
  }
  return answer;
}

}  // namespace

AnalysisKind Findings() {
  using enum AnalysisType;
  return {.name = "findings",
          .version = 1,
          .question = "What costs time and can be helped, how much is it, and what helps?",
          .options = {kTraceScope},
          .tables = {{"findings",
                      {{"run", kText, "", "The run", true},
                       {"code", kText, "", "launch_bound, exposed_communication, ...: docs/analyses/findings.md"},
                       {"gain_percent", kReal, "percent", "gain_ns of the whole: the first number of the evidence"},
                       {"message", kText, "", "What it is, with its numbers"},
                       {"command", kText, "", "It shows more"},
                       {"hint", kText, "", "What to do"},
                       {"kernel", kText, "", "The kernel that has most of it; null: it is about no single one"},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"device", kInteger, "", "The device; null: it is about all ranks"},
                       {"gain_ns", kInteger, "ns", "At most so much is saved; gains of several findings overlap"},
                       {"evidence", kJson, "", "The metrics that it rests on: metric, value, unit"},
                       {"source", kText, "", "A public document that says so"}}},
                     {"not_evaluated",
                      {{"run", kText, "", "The run", true},
                       {"code", kText, "", "The finding"},
                       {"missing", kJson, "", "The metrics that the trace does not have"},
                       {"devices", kInteger, "", "Of so many devices; 0: of the run"}}}},
          .answer = &AnswerFindings};
}

}  // namespace kprof
