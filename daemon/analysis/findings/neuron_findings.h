// The findings of device profiles of NeuronCores: rules over what the engines and the DMA queues did, asked of each
// profile. A rule is a row: the figures that it needs, when it is one, what could be gained, what to do, who says so. A
// figure that a profile does not have makes the rule not evaluated: nothing is guessed.
//
// One thread, that of the readers. Costs passes over the rows of the profile.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/engine_waits.h"

namespace kprof {

enum class NeuronFigure : uint8_t {
  kTotalNs,  // the execution
  kActiveNs,
  kWindowNs,  // of the bounds: from the first DMA to the last
  kDmaActiveNs,
  kUnhiddenDmaNs,
  kSpillReloadBytes,
  kSpillCostNs,
  kExcessTrafficNs,
  kReloadExcessBytes,
  kDmaInefficiencyNs,
  kSmallDescriptorPercent,
  kTransposeNs,
  kTransposePercent,
  kTensorIdleNs,
  kTensorUnderusedNs,
  kMatmulFlops,
  kLostMarks,  // rows of the profiler that say that data is missing
  kUnknownDmaPercent,
  kThrottledNs,
  kDmaIdleNs,
  kBusiestEngineNs,      // of tensor, vector, scalar, gpsimd
  kSyncWaitNs,           // of that engine: in semaphores, and for events before instructions
  kTensorWaitNs,         // the same of the tensor engine
  kTensorIdleDmaNs,      // of kTensorIdleNs, in which DMA worked
  kTensorIdleEnginesNs,  // in which another engine did
};
inline constexpr size_t kNeuronFigures = static_cast<size_t>(NeuronFigure::kTensorIdleEnginesNs) + 1;

struct NeuronFigureWords {
  const char* name = "";
  const char* unit = "";
};
const NeuronFigureWords& WordsOf(NeuronFigure figure);

class NeuronFigures {
 public:
  // The figures of the profile's first core, in the window.
  static Result<NeuronFigures> Read(const AnalysisTraces& traces, const DeviceProfile& profile,
                                    const ProfileWindow& window, const StopSignal& stop);

  void Set(NeuronFigure figure, std::optional<double> value) { values_[static_cast<size_t>(figure)] = value; }
  std::optional<double> Find(NeuronFigure figure) const { return values_[static_cast<size_t>(figure)]; }
  // REQUIRES: it has a value.
  double operator[](NeuronFigure figure) const { return *values_[static_cast<size_t>(figure)]; }

  // Waits of the tensor engine and of the busiest engine; without a name of the engine: not known.
  EngineWait tensor_wait;
  EngineWait busiest_wait;

 private:
  Status ReadWaits(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
                   int64_t core, ProfileWork& work, const StopSignal& stop);

  std::array<std::optional<double>, kNeuronFigures> values_;
};

struct NeuronRule {
  const char* code = "";
  std::vector<NeuronFigure> needs;  // the evidence, in this order; the first is the whole of gain_percent
  bool (*is_triggered)(const NeuronFigures& of) = nullptr;
  // At most so much is saved; null: nobody can say.
  double (*gain_ns)(const NeuronFigures& of) = nullptr;
  std::string (*message)(const NeuronFigures& of) = nullptr;
  const char* hint = "";
  std::string (*hint_of)(const NeuronFigures& of) = nullptr;  // in place of hint, where what to do depends on them
  const char* source = "";
  const char* kind = "";             // the analysis that shows more
  std::vector<NeuronFigure> also{};  // more evidence, where it is known
};
// In the order in which they are documented.
std::span<const NeuronRule> NeuronRules();

struct NeuronFinding {
  const NeuronRule* rule = nullptr;
  std::optional<double> gain_ns;
  double whole_ns = 0;
  std::string message;
  std::string hint;
  std::string evidence;  // JSON
};
struct NeuronFindings {
  std::vector<NeuronFinding> found;
  struct NotEvaluated {
    const NeuronRule* rule = nullptr;
    std::vector<std::string> missing;
  };
  std::vector<NotEvaluated> not_evaluated;
};
NeuronFindings AskNeuronRules(const NeuronFigures& of);

}  // namespace kprof
