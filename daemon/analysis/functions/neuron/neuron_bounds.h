// AWS's bounds of a kernel on a NeuronCore: how long it would take if one thing alone took time. The differences
// between them locate time; they do not promise that it can be saved. The formulas are those of Amazon's own analysis
// (docs/analyses/neuron-bounds.md). Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kprof {

// Nothing: the profile does not say.
struct BoundInputs {
  double total_ns = 0;
  std::optional<double> dma_active_ns;
  std::optional<double> dma_bytes;        // that were moved
  std::optional<double> necessary_bytes;  // inputs, outputs and weights, each once
  std::optional<double> dma_peak;         // bytes a second
  std::optional<double> tensor_peak;      // operations a second, BF16
  std::optional<double> tensor_flops;     // of MATMUL, scaled to BF16
  std::optional<double> useful_flops;     // without transposes
  // Active times of tensor, vector, scalar, gpsimd: those that the core has.
  std::map<std::string, double> engines_ns;
};

struct BoundTimes {
  std::optional<double> memory_bound;
  std::optional<double> memory_bound_ideal;
  std::optional<double> memory_bound_ideal_no_reloads;
  std::optional<double> compute_bound;
  std::optional<double> compute_bound_ideal_flops;
  std::optional<double> compute_bound_ideal_useful_flops;
  std::optional<double> perfect_pipeline;
  std::string bottleneck;  // tensor, vector, scalar, gpsimd, dma; empty: not known
};

// ns; nothing where an input lacks.
BoundTimes BoundsOf(const BoundInputs& inputs);

struct BoundGap {
  const char* name = "";
  std::optional<double> ns;
  const char* reading = "";
  // The bounds that it is the difference of. Empty: the window.
  const char* from = "";
  const char* less = "";
};
// In AWS's order. A gap below kFineGapPercent of the total is fine.
inline constexpr double kFineGapPercent = 5;
std::vector<BoundGap> GapsOf(const BoundInputs& inputs, const BoundTimes& bounds);

// A change that would bring one engine down to a bound, while the others take what they take. All of them run side by
// side then, as long as the slowest does: a speed-up has the gain of that in it, which beyond_overlap leaves out.
struct BoundChange {
  const char* name = "";
  const char* engine = "";  // that it touches; empty: none, they only run side by side
  const char* bound = "";   // the name of the bound that it comes down to
  const char* action = "";  // what to do
  std::optional<double> bound_ns;
  std::optional<double> window_ns;       // max(the bound, the slowest other engine)
  std::optional<double> speedup;         // total / window_ns
  std::optional<double> beyond_overlap;  // perfect_pipeline / window_ns: 1 is nothing
  std::string limited_by;                // the engine that takes window_ns
  bool is_of_bottleneck = false;
};
// perfect_pipeline, which changes no engine, then the others in AWS's order.
std::vector<BoundChange> ChangesOf(const BoundInputs& inputs, const BoundTimes& bounds);

}  // namespace kprof
