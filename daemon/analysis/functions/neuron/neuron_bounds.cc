#include "daemon/analysis/functions/neuron/neuron_bounds.h"

#include <algorithm>

namespace kprof {
namespace {

constexpr const char* kDma = "dma";
constexpr const char* kTensor = "tensor";

std::optional<double> TimeAt(std::optional<double> amount, std::optional<double> per_second) {
  if (!amount || !per_second || !(*per_second > 0)) return std::nullopt;
  return *amount / *per_second * 1e9;
}

std::optional<double> Less(std::optional<double> one, std::optional<double> other) {
  if (!one || !other) return std::nullopt;
  return *one - *other;
}

// The slowest one but for `engine`.
double SlowestOther(const BoundInputs& inputs, const std::string& engine) {
  double slowest = engine == kDma ? 0 : inputs.dma_active_ns.value_or(0);
  for (const auto& [name, active_ns] : inputs.engines_ns) {
    if (name != engine) slowest = std::max(slowest, active_ns);
  }
  return slowest;
}

}  // namespace

BoundTimes BoundsOf(const BoundInputs& inputs) {
  BoundTimes bounds;
  bounds.memory_bound = inputs.dma_active_ns;
  bounds.memory_bound_ideal = TimeAt(inputs.dma_bytes, inputs.dma_peak);
  bounds.memory_bound_ideal_no_reloads = TimeAt(inputs.necessary_bytes, inputs.dma_peak);
  if (const auto tensor = inputs.engines_ns.find(kTensor); tensor != inputs.engines_ns.end()) {
    bounds.compute_bound = tensor->second;
  }
  bounds.compute_bound_ideal_flops = TimeAt(inputs.tensor_flops, inputs.tensor_peak);
  bounds.compute_bound_ideal_useful_flops = TimeAt(inputs.useful_flops, inputs.tensor_peak);
  // Without DMA's time nobody knows which is the slowest.
  if (!inputs.dma_active_ns) return bounds;
  bounds.perfect_pipeline = *inputs.dma_active_ns;
  bounds.bottleneck = kDma;
  for (const auto& [name, active_ns] : inputs.engines_ns) {
    if (active_ns <= *bounds.perfect_pipeline) continue;
    bounds.perfect_pipeline = active_ns;
    bounds.bottleneck = name;
  }
  return bounds;
}

std::vector<BoundGap> GapsOf(const BoundInputs& inputs, const BoundTimes& bounds) {
  const std::optional<double> total = inputs.total_ns;
  return {
      {"dma_idle", Less(total, bounds.memory_bound),
       "DMA is idle: too little is prefetched, or nothing is to be moved"},
      {"dma_inefficiency", Less(bounds.memory_bound, bounds.memory_bound_ideal),
       "DMA moves bytes slower than it can: small descriptors, few queues"},
      {"excess_traffic", Less(bounds.memory_bound_ideal, bounds.memory_bound_ideal_no_reloads),
       "bytes are moved more than once: reloads and spills"},
      {"tensor_idle", Less(total, bounds.compute_bound), "the tensor engine is idle: it waits for data or for others"},
      {"tensor_underused", Less(bounds.compute_bound, bounds.compute_bound_ideal_flops),
       "the tensor engine is active, and slower than it can: small tiles, gaps between its instructions"},
      {"transposes", Less(bounds.compute_bound_ideal_flops, bounds.compute_bound_ideal_useful_flops),
       "the tensor engine transposes instead of multiplying"},
  };
}

std::vector<BoundChange> ChangesOf(const BoundInputs& inputs, const BoundTimes& bounds) {
  std::vector<BoundChange> changes = {
      {"dma_at_peak", kDma, bounds.memory_bound_ideal, {}, false},
      {"no_reloads", kDma, bounds.memory_bound_ideal_no_reloads, {}, false},
      {"tensor_at_peak", kTensor, bounds.compute_bound_ideal_flops, {}, false},
      {"no_transposes", kTensor, bounds.compute_bound_ideal_useful_flops, {}, false},
  };
  for (BoundChange& change : changes) {
    // How slow the others are is known where DMA's time is.
    if (!change.bound_ns || !inputs.dma_active_ns) continue;
    const double left = std::max(*change.bound_ns, SlowestOther(inputs, change.engine));
    if (left > 0) change.speedup = inputs.total_ns / left;
    change.is_of_bottleneck = bounds.bottleneck == change.engine;
  }
  BoundChange pipeline{"perfect_pipeline", "", bounds.perfect_pipeline, {}, false};
  if (pipeline.bound_ns && *pipeline.bound_ns > 0) pipeline.speedup = inputs.total_ns / *pipeline.bound_ns;
  changes.push_back(pipeline);
  return changes;
}

}  // namespace kprof
