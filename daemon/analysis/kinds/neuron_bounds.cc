// AWS's bounds of a kernel on a NeuronCore: what bounds it, where its time goes, what a change could bring. Docs:
// docs/analyses/neuron-bounds.md.
#include "daemon/analysis/functions/neuron/neuron_bounds.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/bound_inputs.h"
#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/device_profile.h"

namespace kprof {
namespace {

enum BoundTable : size_t { kBoundRows, kGapRows, kChangeRows };

AnalysisValue BoundValue(std::optional<double> value) {
  return value ? AnalysisValue(*value) : AnalysisValue();
}
AnalysisValue ShareOf(std::optional<double> part, double whole) {
  return part && whole > 0 ? AnalysisValue(100 * *part / whole) : AnalysisValue();
}

class BoundsMaker {
 public:
  BoundsMaker(const DeviceProfile& profile, const CoreBounds& of, AnalysisAnswer& answer)
      : profile_(profile), of_(of), bounds_(BoundsOf(of.inputs)), answer_(answer) {}

  Status Make() {
    RETURN_IF_ERROR(AddBound("memory_bound", bounds_.memory_bound, "DMA active: the union of its packets"));
    RETURN_IF_ERROR(
        AddBound("memory_bound_ideal", bounds_.memory_bound_ideal, "the bytes that were moved, at DMA's peak"));
    RETURN_IF_ERROR(AddBound("memory_bound_ideal_no_reloads", bounds_.memory_bound_ideal_no_reloads,
                             "the bytes of inputs, outputs and weights, each once, at DMA's peak"));
    RETURN_IF_ERROR(AddBound("compute_bound", bounds_.compute_bound, "the tensor engine active"));
    RETURN_IF_ERROR(AddBound("compute_bound_ideal_flops", bounds_.compute_bound_ideal_flops,
                             "what the tensor engine computed, at its peak"));
    RETURN_IF_ERROR(AddBound("compute_bound_ideal_useful_flops", bounds_.compute_bound_ideal_useful_flops,
                             "the same without transposes"));
    RETURN_IF_ERROR(AddBound("perfect_pipeline", bounds_.perfect_pipeline,
                             "the largest active time of tensor, vector, scalar, gpsimd and dma"));
    for (const BoundGap& gap : GapsOf(of_.inputs, bounds_)) {
      const double percent = gap.ns && of_.inputs.total_ns > 0 ? 100 * *gap.ns / of_.inputs.total_ns : 0;
      // Less was done than has to be: then one of the two numbers of the profile is of something else.
      const bool contradicts = gap.ns && *gap.ns < 0;
      RETURN_IF_ERROR(Add(
          kGapRows,
          {std::string(gap.name), BoundValue(gap.ns), ShareOf(gap.ns, of_.inputs.total_ns),
           gap.ns && !contradicts ? AnalysisValue(int64_t{percent < kFineGapPercent}) : AnalysisValue(),
           contradicts ? "below 0: the profile's own numbers contradict each other here" : std::string(gap.reading)}));
    }
    for (const BoundChange& change : ChangesOf(of_.inputs, bounds_)) {
      RETURN_IF_ERROR(Add(kChangeRows,
                          {std::string(change.name),
                           *change.engine == '\0' ? AnalysisValue() : AnalysisValue(std::string(change.engine)),
                           BoundValue(change.bound_ns), BoundValue(change.speedup), int64_t{change.is_of_bottleneck}}));
    }
    return OkStatus();
  }

  AnalysisAnswer::Row Facts() const {
    std::optional<double> speedup;
    for (const BoundChange& change : ChangesOf(of_.inputs, bounds_)) {
      // Of the changes that touch it, the first: bringing it to its own peak.
      if (change.is_of_bottleneck && !speedup) speedup = change.speedup;
    }
    return {of_.inputs.total_ns,
            of_.begin_ns,
            of_.end_ns,
            bounds_.bottleneck.empty() ? AnalysisValue() : AnalysisValue(bounds_.bottleneck),
            BoundValue(speedup),
            BoundValue(of_.inputs.tensor_peak),
            BoundValue(of_.inputs.dma_peak)};
  }

 private:
  Status Add(size_t table, std::vector<AnalysisValue> values) {
    std::vector<AnalysisValue> row{profile_.run, ValueOf(profile_.rank), of_.core};
    row.insert(row.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
    return answer_.AddRow(table, std::move(row));
  }
  Status AddBound(const std::string& name, std::optional<double> ns, const char* definition) {
    const auto why = of_.unknown.find(name);
    const auto basis = of_.basis.find(name);
    return Add(kBoundRows, {name, BoundValue(ns), ShareOf(ns, of_.inputs.total_ns), std::string(definition),
                            basis == of_.basis.end() ? AnalysisValue() : AnalysisValue(basis->second),
                            ns || why == of_.unknown.end() ? AnalysisValue() : AnalysisValue(why->second)});
  }

  const DeviceProfile& profile_;
  const CoreBounds& of_;
  const BoundTimes bounds_;
  AnalysisAnswer& answer_;
};

Result<AnalysisAnswer> AnswerBounds(const AnalysisTraces& traces, const AnalysisOptions& options,
                                    const StopSignal& stop) {
  RETURN_IF_ERROR(StillWanted(stop));
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const ProfileWindow window, WindowOf(options));
  ASSIGN_OR_RETURN(const std::vector<DeviceProfile> profiles, FindDeviceProfiles(traces, stop));
  AddProfileNotes(traces, profiles, answer);
  AnalysisAnswer::Row facts(7);
  size_t made = 0;
  std::set<std::string> notes;
  for (const DeviceProfile& profile : profiles) {
    ASSIGN_OR_RETURN(const std::vector<CoreBounds> cores,
                     ReadBoundInputs(traces, profile, window, options.integer("core"), stop));
    for (const CoreBounds& core : cores) {
      BoundsMaker maker(profile, core, answer);
      RETURN_IF_ERROR(maker.Make());
      facts = ++made == 1 ? maker.Facts() : AnalysisAnswer::Row(7);
      notes.insert(core.notes.begin(), core.notes.end());
    }
  }
  for (const std::string& note : notes) answer.AddNote(note);
  answer.SetFacts(std::move(facts));
  return answer;
}

}  // namespace

AnalysisKind NeuronBounds() {
  using enum AnalysisType;
  return {
      .name = "neuron-bounds",
      .version = 1,
      .question = "What bounds the kernel on the NeuronCore: memory or compute, and where does the time go?",
      .options = {kProfileScope},
      .facts = {{"total_ns", kReal, "ns", "The window; null, as those below: of several cores or profiles"},
                {"begin_ns", kInteger, "ns", "Of the window: the first DMA, unless option from says another"},
                {"end_ns", kInteger, "ns", "Of the window: the end of the last DMA, unless option to does"},
                {"bottleneck", kText, "", "The engine that is active longest: tensor, vector, scalar, gpsimd, dma"},
                {"bn_speedup", kReal, "", "Of the window, if the bottleneck ran at its peak; null: not known"},
                {"tensor_peak", kReal, "", "FLOP/s; of the core, BF16"},
                {"dma_peak", kReal, "", "Bytes/s; of the core's DMA"}},
      .tables = {{"bounds",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank; null where nobody knows it"},
                   {"core", kInteger, "", "The physical core within the logical one"},
                   {"bound", kText, "", "memory_bound, compute_bound, ..."},
                   {"ns", kReal, "ns", "The window would take so long; null: not known"},
                   {"percent", kReal, "percent", "ns of the window"},
                   {"definition", kText, "", "In words"},
                   {"basis", kText, "", "Where its numbers come from"},
                   {"unknown_because", kText, "", "What the profile lacks; null: nothing"}}},
                 {"gaps",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"gap", kText, "", "dma_idle, dma_inefficiency, excess_traffic, tensor_idle, ..."},
                   {"ns", kReal, "ns", "The difference of two bounds; null: one is not known"},
                   {"percent", kReal, "percent", "ns of the window"},
                   {"is_fine", kBoolean, "", "It is below 5 percent"},
                   {"reading", kText, "", "What it means where it is not"}}},
                 {"changes",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"change", kText, "", "dma_at_peak, no_reloads, tensor_at_peak, no_transposes, perfect_pipeline"},
                   {"engine", kText, "", "That it touches; null: all"},
                   {"bound_ns", kReal, "ns", "What is left of that engine's time"},
                   {"speedup", kReal, "", "Of the window: over max(bound_ns, the slowest other engine)"},
                   {"is_of_bottleneck", kBoolean, "", "It touches the bottleneck"}}}},
      .answer = &AnswerBounds};
}

}  // namespace kprof
