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
#include "daemon/analysis/functions/neuron/engine_waits.h"
#include "daemon/analysis/functions/neuron/profile_answer.h"

namespace kprof {
namespace {

enum BoundTable : size_t { kBoundRows, kGapRows, kChangeRows, kCoreRows, kWaitRows };

AnalysisValue ShareOf(std::optional<double> part, double whole) {
  return part && whole > 0 ? AnalysisValue(100 * *part / whole) : AnalysisValue();
}

class BoundsMaker {
 public:
  BoundsMaker(const DeviceProfile& profile, const CoreBounds& of, AnalysisAnswer& answer)
      : profile_(profile),
        of_(of),
        bounds_(BoundsOf(of.inputs)),
        changes_(ChangesOf(of.inputs, bounds_)),
        answer_(answer) {}

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
      RETURN_IF_ERROR(
          Add(kGapRows,
              {std::string(gap.name), RealOrNull(gap.ns), ShareOf(gap.ns, of_.inputs.total_ns),
               gap.ns && !contradicts ? AnalysisValue(int64_t{percent < kFineGapPercent}) : AnalysisValue(),
               contradicts ? "below 0: the profile's own numbers contradict each other here" : std::string(gap.reading),
               gap.ns ? AnalysisValue() : AnalysisValue(WhyUnknown(gap.from, gap.less))}));
    }
    RETURN_IF_ERROR(AddChanges());
    AnalysisAnswer::Row facts = Facts();
    std::string why = WhyNoSpeedup();
    for (const auto& [name, peak] :
         {std::pair("tensor_peak", of_.inputs.tensor_peak), std::pair("dma_peak", of_.inputs.dma_peak)}) {
      if (peak) continue;
      why += (why.empty() ? "" : "; ") + std::string(name) +
             ": the metadata lacks it, and the table of peaks this instance";
    }
    facts.push_back(why.empty() ? AnalysisValue() : AnalysisValue(why));
    return Add(kCoreRows, std::move(facts));
  }

  AnalysisAnswer::Row Facts() const {
    const BoundChange* const change = ChangeOfBottleneck();
    return {of_.inputs.total_ns,
            of_.begin_ns,
            of_.end_ns,
            bounds_.bottleneck.empty() ? AnalysisValue() : AnalysisValue(bounds_.bottleneck),
            RealOrNull(change == nullptr ? std::nullopt : change->speedup),
            RealOrNull(of_.inputs.tensor_peak),
            RealOrNull(of_.inputs.dma_peak)};
  }

  Status AddWaits(const std::vector<EngineWait>& waits) {
    for (const EngineWait& wait : waits) {
      for (const WaitedFor& one : wait.waited_for) {
        const bool is_nobody = one.who.empty() && !one.is_dma;
        const std::string who = one.who.empty() && one.is_dma ? "a DMA queue without a name" : one.who;
        RETURN_IF_ERROR(Add(
            kWaitRows, {wait.engine, WordOrNull(who), is_nobody ? AnalysisValue() : AnalysisValue(int64_t{one.is_dma}),
                        WordOrNull(one.line.file), one.line.line > 0 ? AnalysisValue(one.line.line) : AnalysisValue(),
                        one.waits, one.wait_ns, ShareOf(static_cast<double>(one.wait_ns), of_.inputs.total_ns)}));
      }
    }
    return OkStatus();
  }

  // Empty: bn_speedup is known.
  std::string WhyNoSpeedup() const {
    if (bounds_.bottleneck.empty()) return "the bottleneck is not known: " + WhyUnknown("perfect_pipeline", "");
    const BoundChange* const change = ChangeOfBottleneck();
    if (change == nullptr) {
      return "the bottleneck is " + bounds_.bottleneck + ": AWS gives peaks of DMA and of the tensor engine alone";
    }
    if (change->speedup) return "";
    return change->bound_ns ? "nothing would be left to do" : WhyUnknown(change->bound, "perfect_pipeline");
  }

 private:
  Status Add(size_t table, std::vector<AnalysisValue> values) {
    values.insert(values.begin(), of_.is_of_summary ? AnalysisValue() : AnalysisValue(of_.core));
    return AddProfileRow(profile_, table, std::move(values), answer_);
  }
  Status AddBound(const std::string& name, std::optional<double> ns, const char* definition) {
    const auto why = of_.unknown.find(name);
    const auto basis = of_.basis.find(name);
    return Add(kBoundRows, {name, RealOrNull(ns), ShareOf(ns, of_.inputs.total_ns), std::string(definition),
                            basis == of_.basis.end() ? AnalysisValue() : WordOrNull(basis->second),
                            ns || why == of_.unknown.end() ? AnalysisValue() : AnalysisValue(why->second)});
  }

  // The largest gain first, behind perfect_pipeline, which each of the others has in it.
  Status AddChanges() {
    std::vector<const BoundChange*> order;
    for (const BoundChange& change : changes_) order.push_back(&change);
    std::stable_sort(order.begin() + 1, order.end(), [](const BoundChange* one, const BoundChange* other) {
      return one->speedup.value_or(0) > other->speedup.value_or(0);
    });
    for (const BoundChange* const change : order) {
      std::string why;
      if (!change->bound_ns || !of_.inputs.dma_active_ns) {
        why = WhyUnknown(change->bound, "perfect_pipeline");
      } else if (!change->speedup) {
        why = "nothing would be left to do";
      }
      RETURN_IF_ERROR(
          Add(kChangeRows, {std::string(change->name), WordOrNull(change->engine), RealOrNull(change->bound_ns),
                            RealOrNull(change->speedup), int64_t{change->is_of_bottleneck},
                            RealOrNull(change->window_ns), WordOrNull(change->limited_by),
                            RealOrNull(change->beyond_overlap), std::string(change->action), WordOrNull(why)}));
    }
    return OkStatus();
  }

  // The first that touches the bottleneck: bringing it to its own peak. Null: none does.
  const BoundChange* ChangeOfBottleneck() const {
    const auto found = std::find_if(changes_.begin(), changes_.end(),
                                    [](const BoundChange& change) { return change.is_of_bottleneck; });
    if (found != changes_.end()) return &*found;
    const auto touching = std::find_if(changes_.begin(), changes_.end(), [&](const BoundChange& change) {
      return !bounds_.bottleneck.empty() && bounds_.bottleneck == change.engine;
    });
    return touching == changes_.end() ? nullptr : &*touching;
  }

  // Why the first of two bounds that is not known is not.
  std::string WhyUnknown(const std::string& one, const std::string& other) const {
    for (const std::string& bound : {one, other}) {
      const auto why = of_.unknown.find(bound);
      if (why != of_.unknown.end()) return bound + ": " + why->second;
    }
    return one + " is not known";
  }

  const DeviceProfile& profile_;
  const CoreBounds& of_;
  const BoundTimes bounds_;
  const std::vector<BoundChange> changes_;
  AnalysisAnswer& answer_;
};

Result<AnalysisAnswer> AnswerBounds(const AnalysisTraces& traces, const AnalysisOptions& options,
                                    const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const AskedProfiles asked, FindAskedProfiles(traces, options, answer, stop));
  AnalysisAnswer::Row facts(7);
  size_t made = 0;
  std::string why_no_speedup;
  std::set<std::string> notes;
  for (const DeviceProfile& profile : asked.profiles) {
    ASSIGN_OR_RETURN(std::vector<CoreBounds> cores, ReadBoundInputs(traces, profile, asked.window, asked.core, stop));
    for (CoreBounds& core : cores) {
      BoundsMaker maker(profile, core, answer);
      RETURN_IF_ERROR(maker.Make());
      facts = ++made == 1 ? maker.Facts() : AnalysisAnswer::Row(7);
      why_no_speedup = maker.WhyNoSpeedup();
      notes.insert(core.notes.begin(), core.notes.end());
      if (core.is_of_summary) continue;
      const ProfileWindow of_core{core.begin_ns, core.end_ns};
      ASSIGN_OR_RETURN(const EngineWaits waits, ReadEngineWaits(traces, profile, of_core, core.core, core.work, stop));
      RETURN_IF_ERROR(maker.AddWaits(waits.engines));
      if (waits.are_left_out) {
        notes.insert("waits are left out: there are more than " + std::to_string(kMostWaitRows) +
                     " instructions, waits and DMA rows; --from and --to choose a part of them");
      }
    }
  }
  for (const std::string& note : notes) answer.AddNote(note);
  if (made == 1 && !why_no_speedup.empty()) answer.AddNote("bn_speedup is not known: " + why_no_speedup);
  if (made > 1) {
    answer.AddNote("facts are null: there are " + std::to_string(made) +
                   " cores or profiles, of which table cores has a row each");
  }
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
                   {"core", kInteger, "", "The physical core within the logical one; null: of a summary alone"},
                   {"bound", kText, "", "memory_bound, compute_bound, ..."},
                   {"ns", kReal, "ns", "The window would take so long; null: not known"},
                   {"percent", kReal, "percent", "ns of the window"},
                   {"definition", kText, "", "In words"},
                   {"basis", kText, "", "Where its numbers come from"},
                   {"unknown_because", kText, "", "What the profile lacks; null: nothing"},
                   kExecutionColumn}},
                 {"gaps",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"gap", kText, "", "dma_idle, dma_inefficiency, excess_traffic, tensor_idle, ..."},
                   {"ns", kReal, "ns", "The difference of two bounds; null: one is not known"},
                   {"percent", kReal, "percent", "ns of the window"},
                   {"is_fine", kBoolean, "", "It is below 5 percent"},
                   {"reading", kText, "", "What it means where it is not"},
                   {"unknown_because", kText, "", "Why ns is null; null: it is not"},
                   kExecutionColumn}},
                 {"changes",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"change", kText, "",
                    "perfect_pipeline, then, each on top of that, dma_at_peak, no_reloads, tensor_at_peak, "
                    "no_transposes"},
                   {"engine", kText, "", "That it touches; null: none, they only work side by side"},
                   {"bound_ns", kReal, "ns", "What is left of that engine's time"},
                   {"speedup", kReal, "", "The window over window_ns; that of working side by side is in it"},
                   {"is_of_bottleneck", kBoolean, "", "It touches the bottleneck"},
                   {"window_ns", kReal, "ns", "The window would take so long: bound_ns, or the slowest other engine"},
                   {"limited_by", kText, "", "The engine that takes window_ns: the next one to look at"},
                   {"beyond_overlap", kReal, "", "speedup over perfect_pipeline's: 1 is no gain of its own"},
                   {"action", kText, "", "What to do"},
                   {"unknown_because", kText, "", "Why numbers are null; null: none is"},
                   kExecutionColumn}},
                 {"cores",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"total_ns", kReal, "ns", "The window"},
                   {"begin_ns", kInteger, "ns", "Of the window"},
                   {"end_ns", kInteger, "ns", "Of the window"},
                   {"bottleneck", kText, "", "The engine that is active longest; null: not known"},
                   {"bn_speedup", kReal, "", "Of the window, if the bottleneck ran at its peak"},
                   {"tensor_peak", kReal, "", "FLOP/s; of the core, BF16"},
                   {"dma_peak", kReal, "", "Bytes/s; of the core's DMA"},
                   {"unknown_because", kText, "", "Why numbers are null; null: none is"},
                   kExecutionColumn}},
                 {"waits",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"engine", kText, "", "The one that waited"},
                   {"waited_for", kText, "",
                    "The engine or DMA queue whose work ended last before the wait did; null: none ended meanwhile"},
                   {"is_dma", kBoolean, "", "It is a DMA queue"},
                   {"file", kText, "", "Of the instruction that was waited for; null: not known"},
                   {"line", kInteger, "", "Its line"},
                   {"waits", kInteger, "", "So many"},
                   {"wait_ns", kInteger, "ns", "Of these together, without the engine's own work"},
                   {"percent", kReal, "percent", "wait_ns of the window"},
                   kExecutionColumn}}},
      .answer = &AnswerBounds};
}

}  // namespace kprof
