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

struct ActiveEngine {
  std::string name;
  double active_ns = 0;
};

// The slowest one but for `engine`.
ActiveEngine SlowestOther(const BoundInputs& inputs, const std::string& engine) {
  ActiveEngine slowest;
  if (engine != kDma) slowest = {kDma, inputs.dma_active_ns.value_or(0)};
  for (const auto& [name, active_ns] : inputs.engines_ns) {
    if (name != engine && active_ns > slowest.active_ns) slowest = {name, active_ns};
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
      {"dma_idle", Less(total, bounds.memory_bound), "DMA is idle: too little is prefetched, or nothing is to be moved",
       "", "memory_bound"},
      {"dma_inefficiency", Less(bounds.memory_bound, bounds.memory_bound_ideal),
       "DMA moves bytes slower than it can: small descriptors, few queues", "memory_bound", "memory_bound_ideal"},
      {"excess_traffic", Less(bounds.memory_bound_ideal, bounds.memory_bound_ideal_no_reloads),
       "bytes are moved more than once: reloads and spills", "memory_bound_ideal", "memory_bound_ideal_no_reloads"},
      {"tensor_idle", Less(total, bounds.compute_bound), "the tensor engine is idle: it waits for data or for others",
       "", "compute_bound"},
      {"tensor_underused", Less(bounds.compute_bound, bounds.compute_bound_ideal_flops),
       "the tensor engine is active, and slower than it can: small tiles, gaps between its instructions",
       "compute_bound", "compute_bound_ideal_flops"},
      {"transposes", Less(bounds.compute_bound_ideal_flops, bounds.compute_bound_ideal_useful_flops),
       "the tensor engine transposes instead of multiplying", "compute_bound_ideal_flops",
       "compute_bound_ideal_useful_flops"},
  };
}

std::vector<BoundChange> ChangesOf(const BoundInputs& inputs, const BoundTimes& bounds) {
  const auto change = [](const char* name, const char* engine, const char* bound, std::optional<double> bound_ns,
                         const char* action) {
    BoundChange made;
    made.name = name;
    made.engine = engine;
    made.bound = bound;
    made.bound_ns = bound_ns;
    made.action = action;
    return made;
  };
  std::vector<BoundChange> changes = {
      change("perfect_pipeline", "", "perfect_pipeline", bounds.perfect_pipeline,
             "let DMA and all engines work side by side: prefetch, double buffering"),
      change("dma_at_peak", kDma, "memory_bound_ideal", bounds.memory_bound_ideal,
             "move the same bytes at DMA's peak: larger descriptors, more queues"),
      change("no_reloads", kDma, "memory_bound_ideal_no_reloads", bounds.memory_bound_ideal_no_reloads,
             "move each input, output and weight once, at DMA's peak: keep tiles in SBUF"),
      change("tensor_at_peak", kTensor, "compute_bound_ideal_flops", bounds.compute_bound_ideal_flops,
             "run the same products at the tensor engine's peak: full tiles, back to back"),
      change("no_transposes", kTensor, "compute_bound_ideal_useful_flops", bounds.compute_bound_ideal_useful_flops,
             "leave the transposes out: another layout, or DMA transposes"),
  };
  for (BoundChange& one : changes) {
    // How slow the others are is known where DMA's time is.
    if (!one.bound_ns || !inputs.dma_active_ns) continue;
    const ActiveEngine other = SlowestOther(inputs, one.engine);
    const double left = std::max(*one.bound_ns, other.active_ns);
    one.is_of_bottleneck = *one.engine != '\0' && bounds.bottleneck == one.engine;
    one.limited_by = *one.engine == '\0'               ? bounds.bottleneck
                     : other.active_ns > *one.bound_ns ? other.name
                                                       : one.engine;
    one.window_ns = left;
    if (!(left > 0)) continue;
    one.speedup = inputs.total_ns / left;
    one.beyond_overlap = *bounds.perfect_pipeline / left;
  }
  return changes;
}

}  // namespace kprof
