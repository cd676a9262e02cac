#include "daemon/analysis/functions/neuron/bound_inputs.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/dma_traffic.h"

namespace kprof {
namespace {

constexpr const char* kNoPackets =
    "no DMA packets were recorded: capture with --enable-dge-notifs, or compile with --disable-dge";

constexpr const char* kNoTensorPeak =
    "the tensor engine's peak is not known: the metadata lacks it, and the table of peaks this instance";
constexpr const char* kNoReloads = "memory_bound_ideal_no_reloads";

// Sizes of the tensors that a kernel has to move.
struct TensorSizes {
  int64_t necessary = 0;  // inputs, outputs, weights
  bool is_known = false;
};

bool IsNecessary(const std::string& kind) {
  std::string lower;
  for (const char c : kind) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find("input") != lower.npos || lower.find("output") != lower.npos || lower.find("weight") != lower.npos;
}

Result<TensorSizes> ReadTensorSizes(const AnalysisTraces& traces, const DeviceProfile& profile,
                                    const StopSignal& stop) {
  using enum NeuronTensorColumn;
  TensorSizes sizes;
  RETURN_IF_ERROR(ForEachProfileRow<NeuronTensorColumn>(
      traces, profile, NeuronTensorSideTable(), {kKind, kSize}, stop,
      [&](const ReportRow<NeuronTensorColumn>& row, ProfileTexts& texts) -> Status {
        ASSIGN_OR_RETURN(const std::string* const kind, texts.Find(row[kKind]));
        if (!IsNecessary(*kind) || row[kSize] < 0) return OkStatus();
        sizes.is_known = true;
        sizes.necessary = SaturatingSum(sizes.necessary, row[kSize]);
        return OkStatus();
      }));
  return sizes;
}

// The first begin and the last end of a core's rows.
struct RowExtent {
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;

  void Add(int64_t start, int64_t duration) {
    const int64_t begin = SafeTime(start);
    begin_ns = std::min(begin_ns, begin);
    end_ns = std::max(end_ns, SafeEndOf(begin, duration));
  }
};
using CoreExtents = std::map<int64_t, RowExtent>;

// The work of DMA: packets and transfers.
Result<CoreExtents> ReadDmaExtents(const AnalysisTraces& traces, const DeviceProfile& profile, const StopSignal& stop) {
  using enum NeuronDmaColumn;
  CoreExtents extents;
  RETURN_IF_ERROR(ForEachProfileRow<NeuronDmaColumn>(
      traces, profile, NeuronDmaSideTable(), {kCore, kStart, kDuration, kDuplicate}, stop,
      [&](const ReportRow<NeuronDmaColumn>& row, ProfileTexts&) -> Status {
        if (row[kStart] == kNoValue || row[kDuplicate] == 1) return OkStatus();
        extents[row[kCore] == kNoValue ? 0 : row[kCore]].Add(row[kStart], row[kDuration]);
        return OkStatus();
      }));
  return extents;
}

Result<CoreExtents> ReadInstructionExtents(const AnalysisTraces& traces, const DeviceProfile& profile,
                                           const StopSignal& stop) {
  using enum NeuronInstructionColumn;
  CoreExtents extents;
  RETURN_IF_ERROR(ForEachProfileRow<NeuronInstructionColumn>(
      traces, profile, NeuronInstructionSideTable(), {kCore, kStart, kDuration}, stop,
      [&](const ReportRow<NeuronInstructionColumn>& row, ProfileTexts&) -> Status {
        if (row[kStart] == kNoValue) return OkStatus();
        extents[row[kCore] == kNoValue ? 0 : row[kCore]].Add(row[kStart], row[kDuration]);
        return OkStatus();
      }));
  return extents;
}

class BoundInputsReader {
 public:
  BoundInputsReader(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
                    const StopSignal& stop)
      : traces_(traces), profile_(profile), asked_(window), stop_(stop) {}

  Result<std::vector<CoreBounds>> Read(std::optional<int64_t> core) {
    ASSIGN_OR_RETURN(peaks_, CorePeaks::Find(profile_));
    ASSIGN_OR_RETURN(tensors_, ReadTensorSizes(traces_, profile_, stop_));
    ASSIGN_OR_RETURN(dma_, ReadDmaExtents(traces_, profile_, stop_));
    ASSIGN_OR_RETURN(instructions_, ReadInstructionExtents(traces_, profile_, stop_));
    std::set<int64_t> cores;
    for (const CoreExtents* const extents : {&dma_, &instructions_}) {
      for (const auto& [one, extent] : *extents) cores.insert(one);
    }
    is_one_core_ = cores.size() == 1;
    std::vector<CoreBounds> made;
    if (cores.empty() && asked_.is_whole() && !core && profile_.FindWhole("total_time").value_or(0) > 0) {
      ReadSummary(made.emplace_back());
    }
    for (const int64_t one : cores) {
      if (core && *core != one) continue;
      made.emplace_back();
      made.back().core = one;
      RETURN_IF_ERROR(ReadCore(made.back()));
    }
    return made;
  }

 private:
  Status ReadCore(CoreBounds& of) {
    const auto extent = dma_.find(of.core);
    ProfileWindow window = asked_;
    if (extent != dma_.end()) {
      if (window.from_ns == INT64_MIN) window.from_ns = extent->second.begin_ns;
      if (window.to_ns == INT64_MAX) window.to_ns = std::max(extent->second.end_ns, extent->second.begin_ns + 1);
    } else {
      const RowExtent& all = instructions_.at(of.core);
      if (window.from_ns == INT64_MIN) window.from_ns = all.begin_ns;
      if (window.to_ns == INT64_MAX) window.to_ns = std::max(all.end_ns, all.begin_ns + 1);
      of.notes.emplace_back("no DMA was recorded: the window is from the first instruction to the last");
    }
    of.begin_ns = window.from_ns;
    of.end_ns = window.to_ns;
    of.inputs.total_ns = static_cast<double>(window.to_ns) - static_cast<double>(window.from_ns);
    ASSIGN_OR_RETURN(of.work, ReadProfileWork(traces_, profile_, window, of.core, stop_));
    TakePeaks(of);
    TakeMoved(of.work.FindDma(of.core), of);
    RETURN_IF_ERROR(TakeNecessary(of));
    TellDmaPeak(of);
    TakeCompute(of.work, of);
    return OkStatus();
  }

  // As Amazon's own tool does where it has counters alone. A time that is missing is its percentage of the whole.
  void ReadSummary(CoreBounds& of) {
    of.is_of_summary = true;
    of.inputs.total_ns = *profile_.Find("total_time");
    of.end_ns = *profile_.FindWhole("total_time");
    of.notes.emplace_back(
        "the profile is a summary alone: the window is its total_time, and bounds are of its counters");
    TakePeaks(of);
    const auto time_of = [&](const std::string& counter) -> std::optional<double> {
      if (const std::optional<double> told = profile_.Find(counter)) return told;
      const std::optional<double> percent = profile_.Find(counter + "_percent");
      return percent ? std::optional(*percent / 100 * of.inputs.total_ns) : std::nullopt;
    };
    const auto take = [&](const char* bound, std::optional<double>& input, std::optional<double> value,
                          const std::string& counter) {
      input = value;
      (value ? of.basis : of.unknown)[bound] = value ? "summary: " + counter : "the summary has no " + counter;
    };
    take("memory_bound", of.inputs.dma_active_ns, time_of("dma_active_time"), "dma_active_time");
    take("perfect_pipeline", of.inputs.dma_active_ns, of.inputs.dma_active_ns, "dma_active_time");
    if (of.inputs.dma_active_ns) of.basis["perfect_pipeline"] = "summary: active times";
    take("memory_bound_ideal", of.inputs.dma_bytes, profile_.Find("dma_transfer_total_bytes"),
         "dma_transfer_total_bytes");
    take(kNoReloads, of.inputs.necessary_bytes, profile_.Find("inputs_outputs_weights_size_bytes"),
         "inputs_outputs_weights_size_bytes");
    TellDmaPeak(of);
    for (const char* const engine : {"tensor", "vector", "scalar", "gpsimd"}) {
      const std::optional<double> active = time_of(std::string(engine) + "_engine_active_time");
      if (active) of.inputs.engines_ns[engine] = *active;
    }
    const bool has_tensor = of.inputs.engines_ns.contains("tensor");
    (has_tensor ? of.basis : of.unknown)["compute_bound"] =
        has_tensor ? "summary: tensor_engine_active_time" : "the summary has no tensor_engine_active_time";
    const std::optional<double> flops = profile_.Find("hardware_flops");
    const std::optional<double> transposes = profile_.Find("transpose_flops");
    take("compute_bound_ideal_flops", of.inputs.tensor_flops, flops, "hardware_flops");
    take("compute_bound_ideal_useful_flops", of.inputs.useful_flops,
         flops && transposes ? std::optional(*flops - *transposes) : std::nullopt,
         "hardware_flops and transpose_flops");
    for (const char* const bound : {"compute_bound_ideal_flops", "compute_bound_ideal_useful_flops"}) {
      if (!of.basis.contains(bound)) continue;
      if (of.inputs.tensor_peak) {
        of.basis[bound] += ", taken for BF16; peak: " + peaks_.tensor_flops->source;
      } else {
        of.unknown[bound] = kNoTensorPeak;
        of.basis.erase(bound);
      }
    }
  }

  void TakePeaks(CoreBounds& of) {
    if (peaks_.dma_bytes) of.inputs.dma_peak = peaks_.dma_bytes->value;
    if (peaks_.tensor_flops) of.inputs.tensor_peak = peaks_.tensor_flops->value;
    of.notes.push_back(peaks_.Text());
  }

  void TakeMoved(DmaWork* dma, CoreBounds& of) {
    const bool has_packets = dma != nullptr && dma->packets > 0;
    if (has_packets) {
      of.inputs.dma_active_ns = static_cast<double>(dma->busy.LengthNs());
      of.basis["memory_bound"] = of.basis["perfect_pipeline"] = "rows";
    } else {
      of.unknown["memory_bound"] = of.unknown["perfect_pipeline"] = kNoPackets;
    }
    const std::optional<double> told = profile_.Find("dma_transfer_total_bytes");
    std::string& ideal = of.basis["memory_bound_ideal"];
    // The summary is of all cores together; its number is the sum of the rows of transfers, which have their core.
    const bool has_transfers = dma != nullptr && dma->transfers > 0;
    if (asked_.is_whole() && is_one_core_ && told) {
      of.inputs.dma_bytes = *told;
      ideal = "summary: dma_transfer_total_bytes";
    } else if (has_transfers && (!has_packets || (asked_.is_whole() && !is_one_core_))) {
      of.inputs.dma_bytes = static_cast<double>(dma->transfer_bytes);
      ideal = is_one_core_ ? "rows: transfers" : "rows: transfers of this core";
    } else if (has_packets) {
      of.inputs.dma_bytes = static_cast<double>(dma->payload_bytes);
      ideal = "rows: packets of more than 4 bytes, without those of instructions";
    } else {
      of.unknown["memory_bound_ideal"] = kNoPackets;
    }
  }

  Status TakeNecessary(CoreBounds& of) {
    const std::optional<double> told = profile_.Find("inputs_outputs_weights_size_bytes");
    std::string& basis = of.basis[kNoReloads];
    if (asked_.is_whole() && is_one_core_ && told) {
      of.inputs.necessary_bytes = *told;
      basis = "summary: inputs_outputs_weights_size_bytes";
      return OkStatus();
    }
    if (!tensors_.is_known) {
      of.unknown[kNoReloads] = told ? "the summary tells the sizes of inputs and outputs for all cores and the whole "
                                      "execution together, and no table of tensors has them one by one"
                                    : "the profile does not say the sizes of inputs and outputs";
      return OkStatus();
    }
    if (is_one_core_) {
      of.inputs.necessary_bytes = static_cast<double>(tensors_.necessary);
      basis = "tensors: the sizes of inputs, outputs and weights";
      return OkStatus();
    }
    // A core needs of each tensor what it moved, once: its whole size at most.
    ASSIGN_OR_RETURN(const DmaTraffic traffic, ReadDmaTraffic(traces_, profile_, asked_, of.core, stop_));
    bool is_named = false;
    double necessary = 0;
    std::set<std::string> seen;
    for (const MovedTensor& tensor : traffic.tensors) {
      if (!IsNecessary(tensor.kind) || tensor.size_bytes == 0) continue;
      const auto moved = traffic.variables.find(tensor.name);
      // A table of tensors may have a row for each core.
      if (moved == traffic.variables.end() || !seen.insert(tensor.name).second) continue;
      is_named = true;
      necessary += static_cast<double>(std::min(tensor.size_bytes, moved->second.bytes));
    }
    if (is_named) {
      of.inputs.necessary_bytes = necessary;
      basis = "rows: what this core moved of inputs, outputs and weights, each once";
    } else {
      of.unknown[kNoReloads] =
          "inputs and outputs are told for all cores together, and no DMA row of this core names one of them";
    }
    return OkStatus();
  }

  void TellDmaPeak(CoreBounds& of) {
    for (const char* const bound : {"memory_bound_ideal", kNoReloads}) {
      if (!of.inputs.dma_peak) {
        of.unknown[bound] = "DMA's peak is not known: the metadata lacks it, and the table of peaks this instance";
      } else if (!of.basis[bound].empty()) {
        of.basis[bound] += "; peak: " + peaks_.dma_bytes->source;
      }
    }
  }

  void TakeCompute(ProfileWork& work, CoreBounds& of) {
    for (const char* const engine : {"tensor", "vector", "scalar", "gpsimd"}) {
      if (EngineWork* const found = work.Find(engine, of.core)) {
        of.inputs.engines_ns[engine] = static_cast<double>(found->busy.LengthNs());
      }
    }
    // A core whose other engines were recorded did nothing on this one.
    if (work.has_instructions) {
      of.inputs.engines_ns.try_emplace("tensor", 0);
      of.basis["compute_bound"] = "rows";
    } else {
      of.unknown["compute_bound"] = "no instructions were recorded";
    }
    const InstructionSums& sums = work.sums[of.core];
    std::string basis;
    if (sums.matmul_adjusted_flops) {
      of.inputs.tensor_flops = static_cast<double>(*sums.matmul_adjusted_flops);
      of.inputs.useful_flops = static_cast<double>(sums.useful_adjusted_flops.value_or(0));
      basis = "rows: adjusted_flops of MATMUL";
    } else if (sums.matmul_flops) {
      of.inputs.tensor_flops = static_cast<double>(*sums.matmul_flops);
      of.inputs.useful_flops = static_cast<double>(*sums.matmul_flops - sums.transpose_flops.value_or(0));
      basis = "rows: operations of MATMUL, taken for BF16";
      of.notes.emplace_back(
          "the profile has no adjusted_flops: operations count as BF16; of FP32 the ideal times are four times as "
          "long");
    } else if (work.has_instructions) {
      of.inputs.tensor_flops = of.inputs.useful_flops = 0;
      basis = "rows: no MATMUL";
    }
    for (const char* const bound : {"compute_bound_ideal_flops", "compute_bound_ideal_useful_flops"}) {
      if (basis.empty()) {
        of.unknown[bound] = "no instructions were recorded";
      } else if (!of.inputs.tensor_peak) {
        of.unknown[bound] = kNoTensorPeak;
      } else {
        of.basis[bound] = basis + "; peak: " + peaks_.tensor_flops->source;
      }
    }
  }

  const AnalysisTraces& traces_;
  const DeviceProfile& profile_;
  const ProfileWindow& asked_;
  const StopSignal& stop_;
  CorePeaks peaks_;
  TensorSizes tensors_;
  CoreExtents dma_;
  CoreExtents instructions_;
  bool is_one_core_ = false;
};

}  // namespace

Result<std::vector<CoreBounds>> ReadBoundInputs(const AnalysisTraces& traces, const DeviceProfile& profile,
                                                const ProfileWindow& window, std::optional<int64_t> core,
                                                const StopSignal& stop) {
  return BoundInputsReader(traces, profile, window, stop).Read(core);
}

}  // namespace kprof
