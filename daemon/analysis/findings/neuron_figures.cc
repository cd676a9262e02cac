// The figures of each core of a device profile, which its rules are asked of (neuron_findings.h).
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "daemon/analysis/findings/neuron_findings.h"
#include "daemon/analysis/functions/neuron/bound_inputs.h"
#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/dma_traffic.h"
#include "daemon/analysis/functions/neuron/neuron_bounds.h"

namespace kprof {
namespace {

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

// The intersection of a window and some pieces.
std::vector<Interval> CommonOf(const std::vector<Interval>& window, const std::vector<Interval>& pieces) {
  std::vector<Interval> common;
  for (Interval piece : pieces) {
    piece.begin_ns = std::max(piece.begin_ns, window.front().begin_ns);
    piece.end_ns = std::min(piece.end_ns, window.front().end_ns);
    if (piece.begin_ns < piece.end_ns) common.push_back(piece);
  }
  return common;
}

}  // namespace

Result<std::vector<NeuronFigures>> NeuronFigures::Read(const AnalysisTraces& traces, const DeviceProfile& profile,
                                                       const ProfileWindow& window, const StopSignal& stop) {
  using enum NeuronFigure;
  NeuronFigures common;
  ASSIGN_OR_RETURN(const double lost, ReadLostMarks(traces, profile, stop));
  common.Set(kLostMarks, lost);
  ASSIGN_OR_RETURN(const std::optional<double> throttled, ReadThrottledNs(traces, profile, stop));
  common.Set(kThrottledNs, throttled);
  ASSIGN_OR_RETURN(ProfileWork work, ReadProfileWork(traces, profile, window, std::nullopt, stop));
  const ProfileTotal total = TotalOf(profile, work, window);
  if (total.ns > 0) common.Set(kTotalNs, static_cast<double>(total.ns));
  if (work.cores.empty()) {
    common.Set(kActiveNs, profile.Find("total_active_time"));
    return std::vector{common};
  }
  std::vector<Interval> all;
  std::vector<std::pair<int64_t, int64_t>> longest;  // the time in which a core worked, with its place in `cores`
  std::vector<NeuronFigures> cores;
  for (const int64_t core : work.cores) {
    std::vector<Interval> compute;
    for (EngineWork& engine : work.engines) {
      if (engine.core == core) compute = UnionOf(compute, engine.busy.Pieces());
    }
    NeuronFigures& of = cores.emplace_back();
    of.core = core;
    std::vector<Interval> active = compute;
    if (DmaWork* const dma = work.FindDma(core); dma != nullptr && dma->packets > 0) {
      const int64_t dma_ns = dma->busy.LengthNs();
      of.Set(kDmaActiveNs, static_cast<double>(dma_ns));
      of.Set(kUnhiddenDmaNs, static_cast<double>(dma_ns - OverlapOf(compute, dma->busy.Pieces())));
      active = UnionOf(compute, dma->busy.Pieces());
    }
    of.Set(kSpillReloadBytes, work.sums[core].spill_reload);
    longest.emplace_back(-LengthOf(active), static_cast<int64_t>(cores.size() - 1));
    all = UnionOf(all, active);
  }
  common.Set(kActiveNs, static_cast<double>(LengthOf(all)));
  // The bounds have such work of their own: both together may be too much.
  work = ProfileWork();
  std::sort(longest.begin(), longest.end());
  std::vector<NeuronFigures> made;
  for (const auto& [ns, place] : longest) {
    if (made.size() == kMostCores) break;
    NeuronFigures& of = made.emplace_back(std::move(cores[static_cast<size_t>(place)]));
    for (const NeuronFigure figure : {kLostMarks, kThrottledNs, kTotalNs, kActiveNs})
      of.Set(figure, common.Find(figure));
    RETURN_IF_ERROR(of.ReadCore(traces, profile, window, stop));
  }
  return made;
}

Status NeuronFigures::ReadCore(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
                               const StopSignal& stop) {
  using enum NeuronFigure;
  // Reloaded bytes are the larger of two sums, of rows of DMA and of instructions; without rows of DMA they are not
  // known.
  const double of_instructions = Find(kSpillReloadBytes).value_or(0);
  Set(kSpillReloadBytes, std::nullopt);
  ASSIGN_OR_RETURN(std::vector<CoreBounds> cores, ReadBoundInputs(traces, profile, window, core, stop));
  for (CoreBounds& one : cores) {
    RETURN_IF_ERROR(ReadWaits(traces, profile, {one.begin_ns, one.end_ns}, one.work, stop));
    const BoundTimes bounds = BoundsOf(one.inputs);
    Set(kWindowNs, one.inputs.total_ns);
    for (const BoundGap& gap : GapsOf(one.inputs, bounds)) {
      const std::string_view name = gap.name;
      if (name == "excess_traffic") Set(kExcessTrafficNs, gap.ns);
      if (name == "dma_inefficiency") Set(kDmaInefficiencyNs, gap.ns);
      if (name == "dma_idle") Set(kDmaIdleNs, gap.ns);
      if (name == "transposes") Set(kTransposeNs, gap.ns);
      if (name == "tensor_idle") Set(kTensorIdleNs, gap.ns);
      if (name == "tensor_underused") Set(kTensorUnderusedNs, gap.ns);
    }
    Set(kMatmulFlops, one.inputs.tensor_flops);
    if (one.inputs.tensor_flops && one.inputs.useful_flops) {
      const double flops = *one.inputs.tensor_flops;
      Set(kTransposePercent, flops > 0 ? 100 * (flops - *one.inputs.useful_flops) / flops : 0);
    }
  }
  ASSIGN_OR_RETURN(const DmaTraffic traffic, ReadDmaTraffic(traces, profile, window, core, stop));
  if (!traffic.has_rows) return OkStatus();
  const double reloads = std::max(static_cast<double>(traffic.spill_reload_bytes), of_instructions);
  Set(kSpillReloadBytes, reloads);
  ASSIGN_OR_RETURN(const CorePeaks peaks, CorePeaks::Find(profile));
  // Twice the reloads: some of the saves are missing in the data.
  if (peaks.dma_bytes) Set(kSpillCostNs, 2 * reloads / peaks.dma_bytes->value * 1e9);
  if (traffic.descriptor_bytes > 0) {
    Set(kSmallDescriptorPercent,
        100.0 * static_cast<double>(traffic.small_descriptor_bytes) / static_cast<double>(traffic.descriptor_bytes));
  }
  if (traffic.bytes > 0) {
    Set(kUnknownDmaPercent, 100.0 * static_cast<double>(traffic.unknown_bytes) / static_cast<double>(traffic.bytes));
  }
  double excess = 0;
  for (const MovedTensor& tensor : traffic.tensors) excess += static_cast<double>(tensor.excess_bytes);
  if (!traffic.tensors.empty()) Set(kReloadExcessBytes, excess);
  return OkStatus();
}

Status NeuronFigures::ReadWaits(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
                                ProfileWork& work, const StopSignal& stop) {
  using enum NeuronFigure;
  if (!work.has_instructions) return OkStatus();
  const std::vector<Interval> whole{{window.from_ns, window.to_ns}};
  std::string busiest;
  int64_t busiest_ns = 0;
  std::vector<Interval> others;
  std::vector<Interval> tensor;
  for (EngineWork& engine : work.engines) {
    if (engine.core != core) continue;
    if (engine.engine == "tensor") {
      tensor = engine.busy.Pieces();
    } else {
      others = UnionOf(others, engine.busy.Pieces());
    }
    const int64_t busy_ns = OverlapOf(whole, engine.busy.Pieces());
    // Sync moves nothing and computes nothing: it waits for others by its nature.
    if (engine.engine == "sync" || busy_ns <= busiest_ns) continue;
    busiest = engine.engine;
    busiest_ns = busy_ns;
  }
  Set(kBusiestEngineNs, static_cast<double>(busiest_ns));
  ASSIGN_OR_RETURN(const EngineWaits waits, ReadEngineWaits(traces, profile, window, core, work, stop));
  if (!waits.are_left_out) {
    Set(kSyncWaitNs, 0);
    Set(kTensorWaitNs, 0);
  }
  for (const EngineWait& wait : waits.engines) {
    if (wait.engine == busiest) {
      busiest_wait = wait;
      Set(kSyncWaitNs, static_cast<double>(wait.wait_ns));
    }
    if (wait.engine == "tensor") {
      tensor_wait = wait;
      Set(kTensorWaitNs, static_cast<double>(wait.wait_ns));
    }
  }
  const auto while_idle = [&](const std::vector<Interval>& busy) {
    const std::vector<Interval> both = CommonOf(whole, busy);
    return static_cast<double>(LengthOf(both) - OverlapOf(both, tensor));
  };
  Set(kTensorIdleEnginesNs, while_idle(others));
  DmaWork* const dma = work.FindDma(core);
  if (dma != nullptr && dma->packets > 0) Set(kTensorIdleDmaNs, while_idle(dma->busy.Pieces()));
  return OkStatus();
}

}  // namespace kprof
