// Findings, which cost time and can be helped: rules over metrics of the traces, and over those of kernel reports, each
// with its gain. Docs: docs/analyses/findings.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/findings/neuron_findings.h"
#include "daemon/analysis/findings/neuron_runtime_findings.h"
#include "daemon/analysis/findings/report_findings.h"
#include "daemon/analysis/findings/trace_findings.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/neuron_parts.h"

namespace kprof {
namespace {

enum FindingTable : size_t { kFound, kNotEvaluated, kDiagnosis };

constexpr AnalysisOption kReportChoices[] = {
    {"kernel", AnalysisType::kText, "", "", "Of kernel reports, only kernels whose names have this text"},
    {"policy", AnalysisType::kText, "sol-95-60", "", "Of kernel reports: as in roofline"},
    {"stages", AnalysisType::kJson, "", "", "Of kernel reports: as in roofline"},
};
constexpr AnalysisOption kInflationChoice[] = {
    {"without", AnalysisType::kText, "", "",
     "A run of the same program without a profiler of the CPU, to say how much that inflates host times of Neuron", "",
     std::numeric_limits<int64_t>::min(), true},
};

class FindingsMaker {
 public:
  FindingsMaker(const AnalysisTraces& traces, const AnalysisOptions& options, const StopSignal& stop)
      : traces_(traces), options_(options), stop_(stop), answer_(traces) {}

  Result<AnalysisAnswer> Make() {
    const ReportParts parts(traces_);
    // A report of kernels has no times, and one without events no devices that a scope could find.
    const bool is_of_time = options_.integer("from") || options_.integer("to") || options_.integer("step");
    if (parts.has_reports() && !is_of_time) RETURN_IF_ERROR(AddReports());
    if (parts.has_reports() && is_of_time) {
      answer_.AddNote("reports of kernels are left out: nobody knows the times of their launches");
    }
    RETURN_IF_ERROR(AddProfiles());
    const AnalysisTraces others = WithoutNeuron(parts.with_events());
    const bool is_of_neuron_alone = others.parts().empty() && !traces_.parts().empty();
    const bool has_neuron = others.parts().size() < parts.with_events().parts().size();
    if (parts.has_events() && !is_of_neuron_alone) RETURN_IF_ERROR(AddEvents(others, has_neuron));
    if (!is_of_time && !options_.integer("device")) RETURN_IF_ERROR(AddNeuronRuntime());
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [gain_ns, row] : found_) RETURN_IF_ERROR(answer_.AddRow(kFound, std::move(row)));
    return std::move(answer_);
  }

 private:
  // `has_neuron`: a Neuron device ran, so that rules about GPUs are not asked where there is none.
  Status AddEvents(const AnalysisTraces& traces, bool has_neuron) {
    ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options_, stop_));
    TraceFindings findings;
    bool has_devices = false;
    RETURN_IF_ERROR(ForEachPartMetrics(traces, scope, has_neuron, stop_, answer_,
                                       [&](size_t part, const PartTraceMetrics& metrics) {
                                         findings.AddPart(traces, part, metrics);
                                         has_devices |= !metrics.devices.empty();
                                         return OkStatus();
                                       }));
    findings.Close();
    for (const TraceFinding& found : findings.findings()) {
      found_.emplace_back(
          found.gain_ns,
          AnalysisAnswer::Row{found.run, std::string(found.rule->code), PercentOf(found.gain_ns, found.whole_ns),
                              found.message, found.command, std::string(found.rule->hint),
                              found.kernel.empty() ? AnalysisValue() : AnalysisValue(found.kernel), ValueOf(found.rank),
                              ValueOf(found.device), found.gain_ns, found.evidence, std::string(found.rule->source)});
    }
    if (has_neuron && !has_devices) return OkStatus();
    for (const FindingNotEvaluated& one : findings.not_evaluated()) {
      std::string missing = "[";
      for (const TraceMetric metric : one.missing) {
        missing += std::string(missing.size() == 1 ? "" : ",") + '"' + WordsOf(metric).name + '"';
      }
      RETURN_IF_ERROR(
          answer_.AddRow(kNotEvaluated, {one.run, std::string(one.rule->code), missing + "]", one.devices}));
    }
    return OkStatus();
  }

  Status AddNeuronRuntime() {
    ASSIGN_OR_RETURN(const std::vector<NeuronRuntimeFinding> findings, FindNeuronRuntimeFindings(traces_, stop_));
    for (const NeuronRuntimeFinding& found : findings) {
      found_.emplace_back(found.gain_ns, AnalysisAnswer::Row{found.run, std::string(found.code),
                                                             PercentOf(found.gain_ns, found.whole_ns), found.message,
                                                             found.command, std::string(found.hint), AnalysisValue(),
                                                             ValueOf(found.rank), AnalysisValue(), found.gain_ns,
                                                             found.evidence, std::string(found.source)});
    }
    return OkStatus();
  }

  Status AddProfiles() {
    ASSIGN_OR_RETURN(const std::vector<DeviceProfile> profiles, FindDeviceProfiles(traces_, stop_));
    if (profiles.empty()) return OkStatus();
    ASSIGN_OR_RETURN(const ProfileWindow window, WindowOf(options_));
    for (const DeviceProfile& profile : profiles) {
      ASSIGN_OR_RETURN(const std::vector<NeuronFigures> figures, NeuronFigures::Read(traces_, profile, window, stop_));
      const NeuronFindings findings = AskNeuronRules(figures);
      for (const NeuronFinding& found : findings.found) {
        const int64_t gain_ns = std::llround(std::min(found.gain_ns.value_or(0), 9e18));
        found_.emplace_back(
            gain_ns,
            AnalysisAnswer::Row{
                profile.run, std::string(found.rule->code),
                found.gain_ns && found.whole_ns > 0 ? AnalysisValue(100 * *found.gain_ns / found.whole_ns)
                                                    : AnalysisValue(),
                found.message, "kprofctl analyze " + std::string(found.rule->kind) + " " + profile.run, found.hint,
                profile.kernel.empty() ? AnalysisValue() : AnalysisValue(profile.kernel), ValueOf(profile.rank),
                AnalysisValue(), found.gain_ns ? AnalysisValue(gain_ns) : AnalysisValue(), found.evidence,
                std::string(found.rule->source)});
      }
      for (const NeuronFindings::NotEvaluated& one : findings.not_evaluated) {
        RETURN_IF_ERROR(answer_.AddRow(
            kNotEvaluated, {profile.run, std::string(one.rule->code), JsonOfTexts(one.missing), int64_t{1}}));
      }
    }
    return OkStatus();
  }

  Status AddReports() {
    ASSIGN_OR_RETURN(const ChosenPolicy policy, ChosenPolicy::Read(options_.text("policy")));
    std::vector<StageCost> stages;
    if (!options_.text("stages").empty()) {
      ASSIGN_OR_RETURN(stages, ReadStageCosts(options_.text("stages"), "stages"));
    }
    ASSIGN_OR_RETURN(const KernelReports reports,
                     KernelReports::Read(traces_, KernelReports::WantedOf(options_), stop_));
    RETURN_IF_ERROR(reports.CheckSome());
    ASSIGN_OR_RETURN(const ReportFindings findings, ReportFindings::Find(traces_, reports, policy, stages, stop_));
    for (const ReportFinding& found : findings.findings()) {
      const int64_t gain_ns = found.gain_ns ? static_cast<int64_t>(std::llround(std::min(*found.gain_ns, 9e18))) : 0;
      found_.emplace_back(
          gain_ns, AnalysisAnswer::Row{found.kernel->run, found.code,
                                       found.gain_percent ? AnalysisValue(*found.gain_percent) : AnalysisValue(),
                                       found.message, "kprofctl analyze kernels " + found.kernel->run, found.hint,
                                       found.kernel->name, ValueOf(found.kernel->rank), ValueOf(found.device),
                                       found.gain_ns ? AnalysisValue(gain_ns) : AnalysisValue(),
                                       EvidenceJson(found.evidence), found.source});
    }
    for (const ReportNotEvaluated& one : findings.not_evaluated()) {
      RETURN_IF_ERROR(answer_.AddRow(kNotEvaluated, {one.run, one.code, JsonOfTexts(one.missing), one.kernels}));
    }
    for (const ReportDiagnosis& of : findings.diagnoses()) {
      RETURN_IF_ERROR(answer_.AddRow(kDiagnosis, {of.kernel->run, ValueOf(of.kernel->rank), of.kernel->name,
                                                  of.category, of.summary, of.reasoning, of.root_causes, of.fixes}));
    }
    if (reports.kernels().size() > findings.figures().size()) {
      answer_.AddNote("findings of the longest " + std::to_string(findings.figures().size()) + " of " +
                      std::to_string(reports.kernels().size()) + " kernels; option kernel chooses others");
    }
    return OkStatus();
  }

  const AnalysisTraces& traces_;
  const AnalysisOptions& options_;
  const StopSignal& stop_;
  AnalysisAnswer answer_;
  std::vector<std::pair<int64_t, AnalysisAnswer::Row>> found_;  // with their gain_ns
};

Result<AnalysisAnswer> AnswerFindings(const AnalysisTraces& traces, const AnalysisOptions& options,
                                      const StopSignal& stop) {
  if (options.text("without").empty()) return FindingsMaker(traces, options, stop).Make();
  const TracesByRun split = SplitByRun(traces, options.text("without"));
  ASSIGN_OR_RETURN(AnalysisAnswer answer, FindingsMaker(split.others, options, stop).Make());
  ASSIGN_OR_RETURN(const std::optional<double> factor, FindHostInflation(split.others, split.named, stop));
  constexpr double kMuch = 1.1;
  if (!factor) {
    answer.AddNote("no inflation: one of the two sides has no calls of the Neuron runtime");
  } else if (*factor > kMuch) {
    answer.AddTrust({"host_time_inflated",
                     "calls of the Neuron runtime take " + std::to_string(*factor) +
                         " times as long as without the profiler: gains of findings about the host are too large"});
  } else {
    answer.AddNote("calls of the Neuron runtime take " + std::to_string(*factor) +
                   " times as long as without the profiler: the findings hold without it");
  }
  return answer;
}

}  // namespace

AnalysisKind Findings() {
  using enum AnalysisType;
  return {
      .name = "findings",
      .version = 1,
      .question = "What costs time and can be helped, how much is it, and what helps?",
      .options = {kTraceScope, kReportChoices, kInflationChoice},
      .tables = {{"findings",
                  {{"run", kText, "", "The run", true},
                   {"code", kText, "", "launch_bound, exposed_communication, ...: docs/analyses/findings.md"},
                   {"gain_percent", kReal, "percent",
                    "gain_ns of the whole: the first number of the evidence, or of the kernel"},
                   {"message", kText, "", "What it is, with its numbers"},
                   {"command", kText, "", "It shows more"},
                   {"hint", kText, "", "What to do"},
                   {"kernel", kText, "", "The kernel that has most of it; null: it is about no single one"},
                   {"rank", kInteger, "", "The rank; null where nobody knows it"},
                   {"device", kInteger, "", "The device; null: it is about all ranks"},
                   {"gain_ns", kInteger, "ns", "At most so much is saved; gains of several findings overlap"},
                   {"evidence", kJson, "", "The metrics that it rests on: metric, value, unit"},
                   {"source", kText, "", "A public document that says so; ncu: the profiler's own rule"}}},
                 {"not_evaluated",
                  {{"run", kText, "", "The run", true},
                   {"code", kText, "", "The finding"},
                   {"missing", kJson, "", "The metrics that the trace or report does not have"},
                   {"devices", kInteger, "", "Of so many devices, or kernels of a report; 0: of the run"}}},
                 {"diagnosis",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank; null where nobody knows it"},
                   {"kernel", kText, "", "A kernel of a report"},
                   {"category", kText, "", "memory, compute, underutilized, balanced or unknown: by the policy"},
                   {"summary", kText, "", "One sentence"},
                   {"reasoning", kText, "", "The root causes in words"},
                   {"root_causes", kJson, "", "At most two: cause, evidence (metric, value, interpretation), fixes"},
                   {"recommended_fixes", kJson, "", "What to do, the most promising first"}}}},
      .answer = &AnswerFindings};
}

}  // namespace kprof
