// The findings of device profiles of NeuronCores: rules over what the engines and the DMA queues did, asked of each
// core of each profile. A rule is a row: the figures that it needs, when it is one, what could be gained, what to do,
// who says so. A figure that no core has makes the rule not evaluated: nothing is guessed.
//
// One thread, that of the readers. Costs passes over the rows of the profile for each of its cores.
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
  // The figures of each physical core in the window, the one that worked longest first; of kMostCores at most. One
  // without a core where the profile is a summary alone.
  static Result<std::vector<NeuronFigures>> Read(const AnalysisTraces& traces, const DeviceProfile& profile,
                                                 const ProfileWindow& window, const StopSignal& stop);
  static constexpr size_t kMostCores = 8;

  void Set(NeuronFigure figure, std::optional<double> value) { values_[static_cast<size_t>(figure)] = value; }
  std::optional<double> Find(NeuronFigure figure) const { return values_[static_cast<size_t>(figure)]; }
  // REQUIRES: it has a value.
  double operator[](NeuronFigure figure) const { return *values_[static_cast<size_t>(figure)]; }

  int64_t core = 0;
  // Waits of the tensor engine and of the busiest engine; without a name of the engine: not known.
  EngineWait tensor_wait;
  EngineWait busiest_wait;

 private:
  Status ReadCore(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
                  const StopSignal& stop);
  Status ReadWaits(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
                   ProfileWork& work, const StopSignal& stop);

  std::array<std::optional<double>, kNeuronFigures> values_;
};

// The core of which a rule tells where several have what it looks for.
enum class NeuronRuleCore : uint8_t {
  kWorst,    // with the largest gain
  kLongest,  // the one that worked longest: that another one is idle makes nothing slower
  kAll,      // its figures are of all cores together
};

struct NeuronRule {
  const char* code = "";
  NeuronRuleCore core = NeuronRuleCore::kWorst;
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
// One finding for each rule at most. Messages and evidence name the core where there are several.
// REQUIRES: `cores` is as NeuronFigures::Read makes it.
NeuronFindings AskNeuronRules(std::span<const NeuronFigures> cores);

}  // namespace kprof
