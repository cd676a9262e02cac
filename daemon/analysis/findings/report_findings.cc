#include "daemon/analysis/findings/report_findings.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/kernel_reports/kernel_sections.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/report_tables.h"

namespace kprof {
namespace {

constexpr size_t kMostCauses = 2;        // of a diagnosis
constexpr size_t kMostCarried = 10'000;  // findings of the profiler's rules
constexpr size_t kMostRuleText = 2'000;  // bytes of a message
constexpr std::string_view kRuleSource = "ncu";
constexpr std::string_view kLocalSpeedup = "local";  // as ncu calls an estimate of one unit

double TotalNsOf(const KernelFigures& of) {
  return of.judged().duration ? of.judged().duration->sum : 0;
}

ReportEvidence EvidenceOfQuantity(const KernelFigures& of, Quantity quantity) {
  const QuantityWords& words = WordsOf(quantity);
  const std::optional<ReportSpread>& spread = of.Spread(quantity);
  ReportEvidence evidence{.metric = std::string(spread->metric), .value = spread->mean, .unit = words.unit};
  evidence.interpretation = LabelOf(words, spread->metric);
  if (*words.healthy != '\0') {
    evidence.interpretation +=
        std::string(IsHealthy(words, spread->mean) ? ", healthy: " : ", not healthy: ") + words.healthy;
  }
  return evidence;
}

std::string NumberText(double value) {
  CounterTextBuffer buffer;
  return std::isfinite(value) ? std::string(CounterText(value, buffer)) : "null";
}

std::string FixJson(const std::string& fix, const std::string& rationale) {
  return "{\"fix\":" + JsonQuoted(fix) + ",\"rationale\":" + JsonQuoted(rationale) + "}";
}

std::string SummaryOf(const KernelFigures& of) {
  const RoofVerdict& verdict = of.judged().verdict;
  const RoofPercents& percents = of.judged().percents;
  const auto percent = [](const std::optional<double>& value) { return value ? TextOfPercent(*value) : "not known"; };
  const std::string both = "compute " + percent(percents.compute) + ", memory " + percent(percents.memory);
  switch (verdict.bottleneck) {
    case Bottleneck::kMemory:
      return "Memory bounds it" +
             (verdict.memory_level.empty() ? "" : ", " + std::string(verdict.memory_level) + " above all") + ": " +
             both + (verdict.at_roofline ? "; it is at the roofline" : "");
    case Bottleneck::kCompute:
      return "Arithmetic bounds it: " + both + (verdict.at_roofline ? "; it is at the roofline" : "");
    case Bottleneck::kBalanced:
      return "The tensor pipe and DRAM are both busy: " + both;
    case Bottleneck::kUnderutilized:
      return "Neither compute nor memory is busy, so latency bounds it: " + both;
    case Bottleneck::kUnknown:
      return "The report does not say what bounds it: it has neither throughput";
  }
  return "";
}

// One rule's messages about the launches of one kernel.
struct CarriedRule {
  // A launch counts once, with its largest estimate: a rule may say several things of it. Its rows are together.
  void Count(size_t of_launch, double ns, double estimate) {
    if (counted_launch == of_launch) {
      const double more = std::max(0.0, estimate - counted_estimate);
      counted_estimate += more;
      weighted += more * ns;
      return;
    }
    counted_launch = of_launch;
    counted_estimate = estimate;
    weights += ns;
    weighted += estimate * ns;
  }

  std::string title;
  std::string message;
  std::string type;
  std::string speedup_type;
  std::string metric;
  size_t launch = 0;  // whose message it is: that with the largest estimate
  double most = -1;
  double weighted = 0;  // estimates by the launches' time
  double weights = 0;
  int64_t launches = 0;
  std::optional<size_t> counted_launch;  // the last one
  double counted_estimate = 0;
};

}  // namespace

std::string EvidenceJson(const std::vector<ReportEvidence>& evidence) {
  std::string json = "[";
  for (const ReportEvidence& one : evidence) {
    json += std::string(json.size() == 1 ? "" : ",") + "{\"metric\":" + JsonQuoted(one.metric) +
            ",\"value\":" + NumberText(one.value) + ",\"unit\":" + JsonQuoted(one.unit) + "}";
  }
  return json + "]";
}

void ReportFindings::Ask(const KernelFigures& of) {
  for (const ReportRule& rule : ReportRules()) {
    const auto has_all = [&](const std::vector<Quantity>& set) {
      return std::all_of(set.begin(), set.end(), [&](Quantity one) { return of.Find(one).has_value(); });
    };
    const auto set = std::find_if(rule.needs.begin(), rule.needs.end(), has_all);
    if (set == rule.needs.end()) {
      std::vector<std::string> missing;
      for (const Quantity one : rule.needs.front()) {
        if (!of.Find(one)) missing.emplace_back(WordsOf(one).names.front());
      }
      const auto known = std::find_if(not_evaluated_.begin(), not_evaluated_.end(), [&](const ReportNotEvaluated& one) {
        return one.code == rule.code && one.run == of.kernel().run && one.missing == missing;
      });
      if (known != not_evaluated_.end()) {
        ++known->kernels;
      } else {
        not_evaluated_.push_back({of.kernel().run, rule.code, std::move(missing), 1});
      }
      continue;
    }
    if (!rule.is_triggered(of)) continue;
    ReportFinding found{.code = rule.code, .category = rule.category, .kernel = &of.kernel()};
    found.gain_percent = std::clamp(rule.gain_percent(of), 0.0, 100.0);
    if (of.judged().duration) found.gain_ns = *found.gain_percent / 100 * TotalNsOf(of);
    found.message = rule.message(of);
    const Quantity first = rule.trigger != nullptr ? rule.trigger(of) : set->front();
    found.evidence.push_back(EvidenceOfQuantity(of, first));
    for (const Quantity quantity : *set) {
      if (quantity != first) found.evidence.push_back(EvidenceOfQuantity(of, quantity));
    }
    found.cause = rule.cause;
    found.hint = rule.hint;
    found.rationale = rule.rationale;
    found.source = rule.source;
    findings_.push_back(std::move(found));
  }
}

// Bytes that a stage's maker says it moves, above what DRAM can.
void ReportFindings::AskStages(const AnalysisTraces& traces, const KernelReports& reports,
                               const std::vector<StageCost>& stages) {
  for (const StageCost& stage : stages) {
    if (!stage.bytes) continue;
    for (const StageLaunches& of : FindStage(reports, stage)) {
      if (of.ns <= 0 || of.times <= 0) continue;
      const Result<KernelRoof> roof = KernelRoof::Of(reports, *of.longest, DeviceNameOf(traces, reports, *of.longest));
      if (!roof.ok()) continue;
      const std::optional<Ceiling> peak = roof->Bandwidth(MemoryLevel::kDram);
      const double gb_s = *stage.bytes * of.times / of.ns;
      if (!peak || gb_s <= peak->value) continue;
      ReportFinding found{.code = "persisting_l2", .category = "memory", .kernel = of.longest};
      found.gain_percent = 0;
      found.gain_ns = 0;
      found.message = "stage " + stage.stage + " would move " + TextOfNumber(gb_s) + " GB/s, above DRAM's peak of " +
                      TextOfNumber(peak->value) +
                      ": data stays in L2 from one launch to the next, or its bytes are less";
      found.evidence = {{"stage_bytes_per_second", gb_s * 1e9, "byte/s", "Bytes of the stage in its time"},
                        {"peak_memory_bandwidth", peak->value * 1e9, "byte/s", "DRAM's peak: " + peak->source}};
      found.cause = "The bandwidth is above what DRAM can do";
      found.hint = "Flush L2 between launches (ncu --cache-control all), or take larger data, before you believe it";
      found.rationale = "In its application the kernel may find L2 cold";
      found.source = "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html";
      findings_.push_back(std::move(found));
    }
  }
}

Status ReportFindings::CarryPart(const AnalysisTraces& traces, const KernelReports& reports, size_t part,
                                 const StopSignal& stop) {
  PartReader& reader = *traces.parts()[part].reader;
  const StoredSideTable* const table = reader.FindSideTable(RuleSideTable().name);
  if (table == nullptr || table->table != RuleSideTable()) return OkStatus();
  std::map<std::tuple<size_t, std::string, std::string>, CarriedRule> carried;  // by kernel, rule and title
  for (const SideSegment& segment : table->segments) {
    RETURN_IF_ERROR(StillWanted(stop));
    std::vector<DecodedColumn> columns(table->table.columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      ASSIGN_OR_RETURN(columns[i], reader.ReadSide(segment, i));
    }
    for (size_t row = 0; row < segment.rows; ++row) {
      const auto at = [&](RuleColumn column) { return (*columns[static_cast<size_t>(column)])[row]; };
      const auto text = [&](RuleColumn column) -> Result<std::string> {
        if (at(column) == kNoValue) return std::string();
        return reader.ReadString(at(column));
      };
      const std::optional<size_t> launch = reports.FindLaunch(part, at(RuleColumn::kLaunch));
      if (!launch) continue;
      ASSIGN_OR_RETURN(const std::string type, text(RuleColumn::kType));
      if (type != "OPT" && type != "WRN") continue;  // information is no finding
      ASSIGN_OR_RETURN(std::string rule, text(RuleColumn::kRule));
      ASSIGN_OR_RETURN(std::string title, text(RuleColumn::kTitle));
      if (carried.size() >= kMostCarried) break;
      const size_t kernel = reports.launches()[*launch].kernel;
      const auto [place, is_new] = carried.try_emplace({kernel, std::move(rule), title});
      if (is_new) RETURN_IF_ERROR(charge_->Grow(static_cast<int64_t>(2 * (kMostRuleText + title.size()))));
      CarriedRule& of = place->second;
      const auto estimate = std::bit_cast<double>(at(RuleColumn::kSpeedupPercent));
      const bool has_estimate = std::isfinite(estimate) && estimate >= 0;
      ++of.launches;
      if (has_estimate) of.Count(*launch, reports.DurationNs(*launch).value_or(0), std::min(estimate, 100.0));
      if (of.launches > 1 && (!has_estimate || estimate <= of.most)) continue;
      if (has_estimate) of.most = estimate;
      of.title = std::move(title);
      of.type = type;
      of.launch = *launch;
      ASSIGN_OR_RETURN(of.message, text(RuleColumn::kMessage));
      ASSIGN_OR_RETURN(of.speedup_type, text(RuleColumn::kSpeedupType));
      ASSIGN_OR_RETURN(of.metric, text(RuleColumn::kMetric));
    }
  }
  for (auto& [key, of] : carried) {
    const ReportKernel& kernel = reports.kernels()[std::get<0>(key)];
    ReportFinding found{.code = "ncu_" + std::get<1>(key), .kernel = &kernel};
    if (of.most >= 0) {
      found.gain_percent = of.weights > 0 ? of.weighted / of.weights : std::min(of.most, 100.0);
      found.is_of_one_unit = of.speedup_type == kLocalSpeedup;
      // Estimates of launches: those without one gain nothing.
      if (of.weights > 0 && !found.is_of_one_unit) found.gain_ns = of.weighted / 100;
    }
    found.message = PlainRuleMessage(of.message);
    // The launch's own number: a rule's copy may be another metric's.
    const std::optional<double> value = of.metric.empty() ? std::nullopt : reports.Raw(of.launch, of.metric);
    if (value) found.evidence = {{of.metric, *value, reports.UnitOf(of.metric), of.title}};
    found.cause = of.title.empty() ? std::get<1>(key) : of.title;
    found.hint = found.is_of_one_unit ? "See the message; its estimate is of one unit, not of the kernel's time"
                                      : "See the message";
    found.rationale = "Nsight Compute's rule " + std::get<1>(key) + " says so";
    found.source = kRuleSource;
    findings_.push_back(std::move(found));
  }
  return OkStatus();
}

Status ReportFindings::Carry(const AnalysisTraces& traces, const KernelReports& reports, const StopSignal& stop) {
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(CarryPart(traces, reports, part, stop));
  }
  return OkStatus();
}

void ReportFindings::Sort() {
  const auto key = [](const ReportFinding& of) {
    return std::tuple(of.is_of_one_unit, -of.gain_ns.value_or(0), -of.gain_percent.value_or(0));
  };
  std::stable_sort(findings_.begin(), findings_.end(),
                   [&](const ReportFinding& a, const ReportFinding& b) { return key(a) < key(b); });
}

void ReportFindings::Diagnose(const KernelFigures& of, const std::vector<const ReportFinding*>& findings) {
  ReportDiagnosis diagnosis{.kernel = &of.kernel()};
  diagnosis.category = BottleneckName(of.judged().verdict.bottleneck);
  diagnosis.summary = SummaryOf(of);
  std::vector<const ReportFinding*> causes;
  // Those of the kernel's own class come first, whatever the others estimate.
  for (const bool is_own : {true, false}) {
    for (const ReportFinding* const found : findings) {
      if ((found->category == diagnosis.category) != is_own) continue;
      if (causes.size() < kMostCauses && found->gain_percent.value_or(0) > 0) causes.push_back(found);
    }
  }
  diagnosis.root_causes = "[";
  diagnosis.fixes = "[";
  for (const ReportFinding* const found : causes) {
    std::string evidence;
    for (const ReportEvidence& one : found->evidence) {
      evidence += std::string(evidence.empty() ? "" : ",") + "{\"metric\":" + JsonQuoted(one.metric) +
                  ",\"value\":" + NumberText(one.value) + ",\"interpretation\":" + JsonQuoted(one.interpretation) + "}";
    }
    const bool is_first = found == causes.front();
    // A rule of the profiler has its advice in its message.
    const std::string& fix = found->hint.starts_with("See the message") ? found->message : found->hint;
    diagnosis.root_causes += std::string(is_first ? "" : ",") + "{\"cause\":" + JsonQuoted(found->cause) +
                             ",\"evidence\":[" + evidence + "],\"fixes\":[" + FixJson(fix, found->rationale) + "]}";
    diagnosis.fixes += (is_first ? "" : ",") + JsonQuoted(fix);
    diagnosis.reasoning += (is_first ? "" : " ") + found->cause + ": " + found->message + ".";
  }
  diagnosis.root_causes += "]";
  diagnosis.fixes += "]";
  if (causes.empty()) diagnosis.reasoning = "No rule that the report could be asked finds anything to gain.";
  diagnoses_.push_back(std::move(diagnosis));
}

Result<ReportFindings> ReportFindings::Find(const AnalysisTraces& traces, const KernelReports& reports,
                                            const ChosenPolicy& policy, const std::vector<StageCost>& stages,
                                            const StopSignal& stop) {
  constexpr int64_t kBytesOfFindings = 16'000;  // of a kernel, at most about
  ReportFindings findings;
  findings.charge_ = std::make_unique<MemoryCharge>(traces.take_memory());
  findings.figures_.reserve(std::min(reports.kernels().size(), kMostKernels));
  for (const ReportKernel& kernel : reports.kernels()) {
    RETURN_IF_ERROR(StillWanted(stop));
    if (findings.figures_.size() == kMostKernels) break;
    RETURN_IF_ERROR(findings.charge_->Grow(static_cast<int64_t>(sizeof(KernelFigures)) + kBytesOfFindings));
    ASSIGN_OR_RETURN(KernelFigures figures, KernelFigures::Of(traces, reports, kernel, policy));
    findings.figures_.push_back(std::move(figures));
    findings.Ask(findings.figures_.back());
  }
  findings.AskStages(traces, reports, stages);
  RETURN_IF_ERROR(findings.Carry(traces, reports, stop));
  for (ReportFinding& found : findings.findings_) {
    found.device = reports.launches()[found.kernel->launches.front()].device;
  }
  findings.Sort();
  std::map<const ReportKernel*, std::vector<const ReportFinding*>> of_kernels;
  for (const ReportFinding& found : findings.findings_) of_kernels[found.kernel].push_back(&found);
  for (const KernelFigures& of : findings.figures_) findings.Diagnose(of, of_kernels[&of.kernel()]);
  return findings;
}

}  // namespace kprof
