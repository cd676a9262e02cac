#include "daemon/analysis/findings/neuron_findings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "daemon/analysis/findings/finding_rule.h"
#include "daemon/analysis/functions/neuron/bound_inputs.h"
#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/dma_traffic.h"
#include "daemon/analysis/functions/neuron/neuron_bounds.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

constexpr std::array<NeuronFigureWords, kNeuronFigures> kFigureWords = {{
    {"total_ns", "ns"},
    {"active_ns", "ns"},
    {"window_ns", "ns"},
    {"dma_active_ns", "ns"},
    {"unhidden_dma_ns", "ns"},
    {"spill_reload_bytes", "bytes"},
    {"spill_cost_ns", "ns"},
    {"excess_traffic_ns", "ns"},
    {"reload_excess_bytes", "bytes"},
    {"dma_inefficiency_ns", "ns"},
    {"small_descriptor_percent", "percent"},
    {"transpose_ns", "ns"},
    {"transpose_percent", "percent"},
    {"tensor_idle_ns", "ns"},
    {"tensor_underused_ns", "ns"},
    {"matmul_flops", "flop"},
    {"lost_marks", "count"},
    {"unknown_dma_percent", "percent"},
    {"throttled_ns", "ns"},
}};

constexpr const char* kBoundsSource =
    "https://github.com/aws-neuron/neuron-agentic-development/blob/main/skills/neuron-nki-profile-querying/references/"
    "performance-bounds.md";
constexpr const char* kProfilerSource =
    "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/tools/neuron-explorer/";

std::string NsText(double ns) {
  return TextOfNs(std::llround(ns));
}
std::string ShareText(double part, double whole) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.1f %%", whole > 0 ? 100 * part / whole : 0);
  return text;
}
std::string BytesText(double bytes) {
  char text[40];
  if (bytes >= 1e6) {
    std::snprintf(text, sizeof(text), "%.1f MB", bytes / 1e6);
  } else {
    std::snprintf(text, sizeof(text), "%.0f bytes", bytes);
  }
  return text;
}
// At least so many percent of the window.
bool IsGap(const NeuronFigures& of, NeuronFigure gap, double percent = kFineGapPercent) {
  return of[gap] > 0 && of[gap] >= of[NeuronFigure::kWindowNs] * percent / 100;
}

std::vector<NeuronRule> MakeRules() {
  using enum NeuronFigure;
  return {
      {.code = "neuron_first_execution",
       .needs = {kTotalNs, kActiveNs},
       .is_triggered = [](const NeuronFigures& of) { return of[kActiveNs] > 0 && of[kActiveNs] < of[kTotalNs] * 0.05; },
       .message =
           [](const NeuronFigures& of) {
             return "only " + ShareText(of[kActiveNs], of[kTotalNs]) + " of " + NsText(of[kTotalNs]) +
                    " is active: the execution is a first one, which waits for what later ones have";
           },
       .hint = "Profile a later execution: capture with --profile-nth-exec=2",
       .source = "https://github.com/aws-neuron/aws-neuron-sdk/issues/994",
       .kind = "engines"},
      {.code = "neuron_data_lost",
       .needs = {kLostMarks},
       .is_triggered = [](const NeuronFigures& of) { return of[kLostMarks] > 0; },
       .message =
           [](const NeuronFigures& of) {
             return "the profiler says " + std::to_string(std::llround(of[kLostMarks])) +
                    " times that data is missing: sums may be too small";
           },
       .hint = "Read the table neuron_warning; capture a shorter run, or with larger buffers",
       .source = kProfilerSource,
       .kind = "engines"},
      {.code = "neuron_spills",
       .needs = {kWindowNs, kSpillReloadBytes, kSpillCostNs},
       .is_triggered = [](const NeuronFigures& of) { return of[kSpillReloadBytes] > 0; },
       .gain_ns = [](const NeuronFigures& of) { return of[kSpillCostNs]; },
       .message =
           [](const NeuronFigures& of) {
             return BytesText(of[kSpillReloadBytes]) +
                    " were spilled from SBUF and loaded again: " + NsText(of[kSpillCostNs]) + " of DMA at its peak";
           },
       .hint = "Keep less alive in SBUF at a time: smaller tiles, another order of loops, less buffering",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_redundant_dma",
       .needs = {kWindowNs, kExcessTrafficNs},
       .is_triggered = [](const NeuronFigures& of) { return IsGap(of, kExcessTrafficNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kExcessTrafficNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "bytes beyond inputs, outputs and weights take " + NsText(of[kExcessTrafficNs]) +
                    " of DMA at its peak, " + ShareText(of[kExcessTrafficNs], of[kWindowNs]) + " of the window";
           },
       .hint =
           "Load each input once: keep it in SBUF for all of its uses, or block loops so that it is used more often "
           "for each load",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_small_descriptors",
       .needs = {kWindowNs, kDmaInefficiencyNs, kSmallDescriptorPercent},
       .is_triggered =
           [](const NeuronFigures& of) { return of[kSmallDescriptorPercent] >= 50 && IsGap(of, kDmaInefficiencyNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kDmaInefficiencyNs]; },
       .message =
           [](const NeuronFigures& of) {
             return ShareText(of[kSmallDescriptorPercent], 100) +
                    " of the bytes move in pieces of less than 4 KiB a partition; DMA takes " +
                    NsText(of[kDmaInefficiencyNs]) + " longer than at its peak";
           },
       .hint = "Move more for each partition in one transfer: 4 KiB and more, contiguous in HBM",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_exposed_dma",
       .needs = {kWindowNs, kUnhiddenDmaNs, kDmaActiveNs},
       .is_triggered = [](const NeuronFigures& of) { return IsGap(of, kUnhiddenDmaNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kUnhiddenDmaNs]; },
       .message =
           [](const NeuronFigures& of) {
             return NsText(of[kUnhiddenDmaNs]) + " of " + NsText(of[kDmaActiveNs]) +
                    " of DMA run while no engine works";
           },
       .hint = "Begin loads earlier: double buffering, loads before the loop that uses them",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_tensor_idle",
       .needs = {kWindowNs, kTensorIdleNs, kMatmulFlops},
       .is_triggered = [](const NeuronFigures& of) { return of[kMatmulFlops] > 0 && IsGap(of, kTensorIdleNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kTensorIdleNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "the tensor engine is idle for " + NsText(of[kTensorIdleNs]) + ", " +
                    ShareText(of[kTensorIdleNs], of[kWindowNs]) + " of the window";
           },
       .hint = "See which engine or DMA is busy meanwhile (neuron-bounds: bottleneck), and take work off that one",
       .source = kBoundsSource,
       .kind = "neuron-bounds"},
      {.code = "neuron_tensor_underused",
       .needs = {kWindowNs, kTensorUnderusedNs, kMatmulFlops},
       .is_triggered = [](const NeuronFigures& of) { return of[kMatmulFlops] > 0 && IsGap(of, kTensorUnderusedNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kTensorUnderusedNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "the tensor engine is active " + NsText(of[kTensorUnderusedNs]) +
                    " longer than its products take at "
                    "its peak";
           },
       .hint = "Use whole tiles: K 128, M 128, N 512",
       .source = kBoundsSource,
       .kind = "instructions"},
      {.code = "neuron_transposes",
       .needs = {kWindowNs, kTransposeNs, kTransposePercent},
       .is_triggered = [](const NeuronFigures& of) { return of[kTransposePercent] >= 5 || IsGap(of, kTransposeNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kTransposeNs]; },
       .message =
           [](const NeuronFigures& of) {
             return ShareText(of[kTransposePercent], 100) + " of what the tensor engine computes are transposes, " +
                    NsText(of[kTransposeNs]) + " at its peak";
           },
       .hint = "Keep tensors in the layout that the next product takes, or transpose while loading (DMA)",
       .source = kBoundsSource,
       .kind = "instructions"},
      {.code = "neuron_unknown_dma",
       .needs = {kUnknownDmaPercent},
       .is_triggered = [](const NeuronFigures& of) { return of[kUnknownDmaPercent] >= 50; },
       .message =
           [](const NeuronFigures& of) {
             return "what " + ShareText(of[kUnknownDmaPercent], 100) + " of the bytes of DMA are is not known";
           },
       .hint = "Set NEURON_RT_ENABLE_DGE_NOTIFICATIONS=1 for the capture, or compile with --disable-dge",
       .source = kProfilerSource,
       .kind = "dma"},
      {.code = "neuron_throttled",
       .needs = {kTotalNs, kThrottledNs},
       .is_triggered =
           [](const NeuronFigures& of) { return of[kThrottledNs] >= of[kTotalNs] * 0.01 && of[kThrottledNs] > 0; },
       .gain_ns = [](const NeuronFigures& of) { return of[kThrottledNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "the core's clock was throttled for " + NsText(of[kThrottledNs]) + ", " +
                    ShareText(of[kThrottledNs], of[kTotalNs]) + " of the execution";
           },
       .hint = "Measure again on a quiet device; a tensor engine that is always busy may be throttled by power",
       .source = kProfilerSource,
       .kind = "engines"},
  };
}

// Rows of warnings that say that data is missing, and errors.
Result<double> ReadLostMarks(const AnalysisTraces& traces, const DeviceProfile& profile, const StopSignal& stop) {
  using enum NeuronWarningColumn;
  double marks = 0;
  RETURN_IF_ERROR(ForEachProfileRow<NeuronWarningColumn>(
      traces, profile, NeuronWarningSideTable(), {kTable, kCategory, kMessage}, stop,
      [&](const ReportRow<NeuronWarningColumn>& row, ProfileTexts& texts) -> Status {
        ASSIGN_OR_RETURN(const std::string* const table, texts.Find(row[kTable]));
        ASSIGN_OR_RETURN(const std::string* const category, texts.Find(row[kCategory]));
        ASSIGN_OR_RETURN(const std::string* const message, texts.Find(row[kMessage]));
        const bool is_lost =
            *table == "Error" || *category == "Missing Data" || message->find("dropped") != message->npos;
        marks += is_lost ? 1 : 0;
        return OkStatus();
      }));
  return marks;
}

// The sum of the rows of throttling; nothing where the profile has no such table.
Result<std::optional<double>> ReadThrottledNs(const AnalysisTraces& traces, const DeviceProfile& profile,
                                              const StopSignal& stop) {
  using enum NeuronFactColumn;
  std::map<int64_t, std::string> types;
  std::map<int64_t, double> durations;
  RETURN_IF_ERROR(ForEachProfileRow<NeuronFactColumn>(
      traces, profile, NeuronFactSideTable(), {kTable, kRow, kName, kNumber, kText}, stop,
      [&](const ReportRow<NeuronFactColumn>& row, ProfileTexts& texts) -> Status {
        ASSIGN_OR_RETURN(const std::string* const table, texts.Find(row[kTable]));
        if (*table != "Throttle") return OkStatus();
        ASSIGN_OR_RETURN(const std::string* const name, texts.Find(row[kName]));
        ASSIGN_OR_RETURN(const std::string* const text, texts.Find(row[kText]));
        if (*name == "type") types[row[kRow]] = *text;
        if (*name == "duration_ns" && std::isfinite(row.real(kNumber))) durations[row[kRow]] = row.real(kNumber);
        return OkStatus();
      }));
  if (types.empty() && durations.empty()) return std::optional<double>();
  double sum = 0;
  // 99 is "not known", of which a profile has rows with the clock at its full rate.
  for (const auto& [row, duration] : durations) sum += types[row] == "99" ? 0 : duration;
  return std::optional(sum);
}

}  // namespace

const NeuronFigureWords& WordsOf(NeuronFigure figure) {
  return kFigureWords[static_cast<size_t>(figure)];
}

std::span<const NeuronRule> NeuronRules() {
  static const std::vector<NeuronRule> kRules = MakeRules();
  return kRules;
}

Result<NeuronFigures> NeuronFigures::Read(const AnalysisTraces& traces, const DeviceProfile& profile,
                                          const ProfileWindow& window, const StopSignal& stop) {
  using enum NeuronFigure;
  NeuronFigures of;
  ASSIGN_OR_RETURN(const double lost, ReadLostMarks(traces, profile, stop));
  of.Set(kLostMarks, lost);
  ASSIGN_OR_RETURN(const std::optional<double> throttled, ReadThrottledNs(traces, profile, stop));
  of.Set(kThrottledNs, throttled);
  ASSIGN_OR_RETURN(ProfileWork work, ReadProfileWork(traces, profile, window, std::nullopt, stop));
  const ProfileTotal total = TotalOf(profile, work, window);
  if (total.ns > 0) of.Set(kTotalNs, static_cast<double>(total.ns));
  if (work.cores.empty()) {
    of.Set(kActiveNs, profile.Find("total_active_time"));
    return of;
  }
  const int64_t core = work.cores.front();
  std::vector<Interval> compute;
  std::vector<Interval> active;
  for (EngineWork& engine : work.engines) {
    active = UnionOf(active, engine.busy.Pieces());
    if (engine.core == core) compute = UnionOf(compute, engine.busy.Pieces());
  }
  for (DmaWork& dma : work.dma) active = UnionOf(active, dma.busy.Pieces());
  of.Set(kActiveNs, static_cast<double>(LengthOf(active)));
  if (DmaWork* const dma = work.FindDma(core); dma != nullptr && dma->packets > 0) {
    const int64_t dma_ns = dma->busy.LengthNs();
    of.Set(kDmaActiveNs, static_cast<double>(dma_ns));
    of.Set(kUnhiddenDmaNs, static_cast<double>(dma_ns - OverlapOf(compute, dma->busy.Pieces())));
  }
  ASSIGN_OR_RETURN(const std::vector<CoreBounds> cores, ReadBoundInputs(traces, profile, window, core, stop));
  for (const CoreBounds& one : cores) {
    const BoundTimes bounds = BoundsOf(one.inputs);
    of.Set(kWindowNs, one.inputs.total_ns);
    for (const BoundGap& gap : GapsOf(one.inputs, bounds)) {
      const std::string_view name = gap.name;
      if (name == "excess_traffic") of.Set(kExcessTrafficNs, gap.ns);
      if (name == "dma_inefficiency") of.Set(kDmaInefficiencyNs, gap.ns);
      if (name == "transposes") of.Set(kTransposeNs, gap.ns);
      if (name == "tensor_idle") of.Set(kTensorIdleNs, gap.ns);
      if (name == "tensor_underused") of.Set(kTensorUnderusedNs, gap.ns);
    }
    of.Set(kMatmulFlops, one.inputs.tensor_flops);
    if (one.inputs.tensor_flops && one.inputs.useful_flops) {
      const double flops = *one.inputs.tensor_flops;
      of.Set(kTransposePercent, flops > 0 ? 100 * (flops - *one.inputs.useful_flops) / flops : 0);
    }
  }
  ASSIGN_OR_RETURN(const DmaTraffic traffic, ReadDmaTraffic(traces, profile, window, core, stop));
  if (!traffic.has_rows) return of;
  const InstructionSums& sums = work.sums[core];
  const double reloads = static_cast<double>(std::max(traffic.spill_reload_bytes, sums.spill_reload.value_or(0)));
  of.Set(kSpillReloadBytes, reloads);
  ASSIGN_OR_RETURN(const CorePeaks peaks, CorePeaks::Find(profile));
  // Twice the reloads: some of the saves are missing in the data.
  if (peaks.dma_bytes) of.Set(kSpillCostNs, 2 * reloads / peaks.dma_bytes->value * 1e9);
  if (traffic.descriptor_bytes > 0) {
    of.Set(kSmallDescriptorPercent,
           100.0 * static_cast<double>(traffic.small_descriptor_bytes) / static_cast<double>(traffic.descriptor_bytes));
  }
  if (traffic.bytes > 0) {
    of.Set(kUnknownDmaPercent, 100.0 * static_cast<double>(traffic.unknown_bytes) / static_cast<double>(traffic.bytes));
  }
  double excess = 0;
  for (const MovedTensor& tensor : traffic.tensors) excess += static_cast<double>(tensor.excess_bytes);
  if (!traffic.tensors.empty()) of.Set(kReloadExcessBytes, excess);
  return of;
}

NeuronFindings AskNeuronRules(const NeuronFigures& of) {
  NeuronFindings findings;
  for (const NeuronRule& rule : NeuronRules()) {
    std::vector<std::string> missing;
    std::string evidence = "[";
    for (const NeuronFigure need : rule.needs) {
      const std::optional<double> value = of.Find(need);
      if (!value) {
        missing.emplace_back(WordsOf(need).name);
        continue;
      }
      CounterTextBuffer buffer;
      evidence += std::string(evidence.size() == 1 ? "" : ",") + "{\"metric\":\"" + WordsOf(need).name +
                  "\",\"value\":" + std::string(CounterText(*value, buffer)) + ",\"unit\":\"" + WordsOf(need).unit +
                  "\"}";
    }
    if (!missing.empty()) {
      findings.not_evaluated.push_back({&rule, std::move(missing)});
      continue;
    }
    if (!rule.is_triggered(of)) continue;
    NeuronFinding& found = findings.found.emplace_back();
    found.rule = &rule;
    if (rule.gain_ns != nullptr) found.gain_ns = std::max(rule.gain_ns(of), 0.0);
    found.whole_ns = of[rule.needs.front()];
    found.message = rule.message(of);
    found.evidence = evidence + "]";
  }
  return findings;
}

}  // namespace kprof
