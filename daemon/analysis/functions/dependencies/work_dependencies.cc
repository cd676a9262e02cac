#include "daemon/analysis/functions/dependencies/work_dependencies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "daemon/analysis/functions/dependencies/chosen_work.h"
#include "daemon/analysis/functions/dependencies/device_waits.h"
#include "daemon/analysis/functions/dependencies/stream_waits.h"
#include "daemon/analysis/functions/dependencies/thread_waits.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

bool IsThreadCategory(std::string_view category) {
  return category == "cpu_op" || category == "Operator" || category == "operator";
}

}  // namespace

// Makes the graph of what is chosen: points of work and of threads, and what lies between them.
class DependencyMaker {
 public:
  DependencyMaker(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const ChosenWork& chosen,
                  WorkDependencies& made)
      : traces_(traces),
        part_(part),
        scope_(scope),
        reader_(*traces.parts()[part].reader),
        chosen_(chosen),
        made_(made) {}

  Status Make(const StopSignal& stop) {
    RETURN_IF_ERROR(ReadThreads(stop));
    made_.graph_ = std::make_unique<DependencyGraph>(FindOrigin());
    AddWorkPoints();
    waits_ = FindDeviceWaits(chosen_);
    AddThreads();
    RETURN_IF_ERROR(AddWork(stop));
    RETURN_IF_ERROR(StillWanted(stop));
    graph().Close();
    return OkStatus();
  }

 private:
  const std::vector<PartSlice>& calls() const { return chosen_.calls(); }
  const std::vector<PartSlice>& work() const { return chosen_.work(); }
  uint32_t CallOf(size_t work) const { return chosen_.CallOf(work); }
  DependencyGraph& graph() { return *made_.graph_; }

  Status ReadThreads(const StopSignal& stop) {
    const int64_t to_ns = scope_.to_ns(part_).value_or(INT64_MAX);
    EventFilter filter;
    filter.first_begin_ns = scope_.from_ns(part_);
    if (to_ns != INT64_MAX) filter.last_begin_ns = to_ns - 1;
    filter.accepts_category = [](std::string_view category) {
      return category == "user_annotation" || IsThreadCategory(category);  // older versions of PyTorch
    };
    filter.accepts_name = [](std::string_view name) { return name.starts_with("ProfilerStep#"); };
    std::vector<PartSlice> steps;
    RETURN_IF_ERROR(ReadSlices(traces_.parts()[part_], filter, stop, made_.charge(), steps));
    filter.accepts_category = IsThreadCategory;
    filter.accepts_name = nullptr;
    std::vector<PartSlice> operators;
    RETURN_IF_ERROR(ReadSlices(traces_.parts()[part_], filter, stop, made_.charge(), operators));
    std::unordered_set<int64_t> step_names;
    for (const PartSlice& step : steps) step_names.insert(step.name);
    std::erase_if(operators, [&](const PartSlice& slice) { return step_names.contains(slice.name); });
    SortByTrack(operators);
    std::vector<PartSlice> chosen;
    RETURN_IF_ERROR(made_.charge().Grow(static_cast<int64_t>(calls().size() * sizeof(PartSlice))));
    for (size_t i = 0; i < calls().size(); ++i) {
      if (chosen_.is_call_chosen(i)) chosen.push_back(calls()[i]);
    }
    threads_ = ThreadActivity(operators, chosen);
    const auto process_of = [this](uint32_t track) { return reader_.tracks()[track].pid.value_or(""); };
    thread_waits_ = FindThreadWaits(threads_, process_of);
    for (auto& [track, thread] : threads_) {
      thread.Forget();
      thread.end_ns = INT64_MIN;
    }
    // A slice that goes on behind the time that is asked for does not say when the thread is done.
    const auto extend = [&](const PartSlice& slice) {
      threads_[slice.track].Extend(slice.begin_ns, slice.end_ns <= to_ns ? slice.end_ns : slice.begin_ns);
    };
    for (const PartSlice& slice : operators) extend(slice);
    for (const PartSlice& slice : chosen) extend(slice);
    // The steps themselves say where a thread's time begins and ends.
    for (const PartSlice& step : steps) {
      if (reader_.tracks()[step.track].kind != "gpu_stream") extend(step);
    }
    return OkStatus();
  }

  int64_t FindOrigin() const {
    int64_t origin = INT64_MAX;
    for (const auto& [track, thread] : threads_) origin = std::min(origin, thread.begin_ns);
    for (size_t i = 0; i < work().size(); ++i) {
      if (chosen_.is_work_chosen(i)) origin = std::min(origin, work()[i].begin_ns);
    }
    return origin;
  }

  void AddWorkPoints() {
    work_begin_.assign(work().size(), kNoIndex);
    for (size_t i = 0; i < work().size(); ++i) {
      if (!chosen_.is_work_chosen(i)) continue;
      work_begin_[i] = graph().AddPoint(work()[i].begin_ns);
      graph().AddPoint(work()[i].end_ns);
      graph().Add({work_begin_[i], EndOf(i), work()[i].end_ns - work()[i].begin_ns, DependencyKind::kDevice,
                   static_cast<uint32_t>(i)});
    }
  }
  uint32_t EndOf(size_t work) const { return work_begin_[work] + 1; }

  // A thread's points in their order: a point of its own for each time at which something else depends on it.
  struct HostPoint {
    int64_t time_ns = 0;
    bool is_begin = false;  // of a call; ends of one time come first, unless they end what begins then
    uint32_t number = 0;
    uint32_t call = kNoIndex;
  };

  void AddThreads() {
    call_begin_.assign(calls().size(), kNoIndex);
    std::map<uint32_t, std::vector<HostPoint>> points;
    for (uint32_t i = 0; i < calls().size(); ++i) {
      if (!chosen_.is_call_chosen(i)) continue;
      const bool is_empty = calls()[i].begin_ns == calls()[i].end_ns;
      points[calls()[i].track].push_back({calls()[i].begin_ns, true, 2 * i, i});
      points[calls()[i].track].push_back({calls()[i].end_ns, is_empty, 2 * i + 1, i});
    }
    // Behind the points of calls, in the order in which thread_waits_ has them.
    auto number = static_cast<uint32_t>(2 * calls().size());
    std::map<std::pair<uint32_t, int64_t>, uint32_t> marks;
    const auto mark = [&](uint32_t track, int64_t time) {
      if (!marks.try_emplace({track, time}, kNoIndex).second) return;
      points[track].push_back({time, false, number++, kNoIndex});
    };
    for (const auto& [track, thread] : threads_) {
      mark(track, thread.begin_ns);
      mark(track, thread.end_ns);
    }
    for (const ThreadWait& wait : thread_waits_) {
      mark(wait.from_track, wait.from_ns);
      mark(wait.to_track, wait.to_ns);
    }
    std::map<std::pair<uint32_t, int64_t>, bool> is_woken;
    for (const ThreadWait& wait : thread_waits_) is_woken[{wait.to_track, wait.to_ns}] = true;
    for (auto& [track, of] : points) {
      std::sort(of.begin(), of.end(), [](const HostPoint& a, const HostPoint& b) {
        return std::tie(a.time_ns, a.is_begin, a.number) < std::tie(b.time_ns, b.is_begin, b.number);
      });
      AddThread(track, of, marks, is_woken);
    }
    for (const ThreadWait& wait : thread_waits_) {
      graph().Add({marks[{wait.from_track, wait.from_ns}], marks[{wait.to_track, wait.to_ns}],
                   wait.to_ns - wait.from_ns, DependencyKind::kThread, wait.to_track});
    }
  }

  void AddThread(uint32_t track, const std::vector<HostPoint>& points,
                 std::map<std::pair<uint32_t, int64_t>, uint32_t>& marks,
                 const std::map<std::pair<uint32_t, int64_t>, bool>& is_woken) {
    uint32_t last = kNoIndex;
    int64_t last_ns = 0;
    for (const HostPoint& point : points) {
      const uint32_t added = graph().AddPoint(point.time_ns);
      int64_t least = point.time_ns - last_ns;
      if (point.call == kNoIndex) {
        marks[{track, point.time_ns}] = added;
        if (is_woken.contains({track, point.time_ns})) least = 0;
      } else if (call_begin_[point.call] == kNoIndex) {
        call_begin_[point.call] = added;
      } else if (waits_.wait_for[point.call] != kNoIndex) {
        least = AddWait(point.call, added, least);
      }
      if (last != kNoIndex) graph().Add({last, added, least, DependencyKind::kHost, track});
      last = added;
      last_ns = point.time_ns;
    }
  }

  // Returns the time that the call takes of its thread, whatever it waits for.
  int64_t AddWait(uint32_t call, uint32_t end, int64_t recorded) {
    const uint32_t of = waits_.wait_for[call];
    const int64_t behind = calls()[call].end_ns - work()[of].end_ns;
    const bool has_waited = work()[of].end_ns > calls()[call].begin_ns;
    const int64_t least = has_waited ? behind : std::min(behind, waits_.return_ns);
    graph().Add({EndOf(of), end, least, DependencyKind::kSync, call});
    const auto [first, last] = waits_.also_wait_for.equal_range(call);
    for (auto at = first; at != last; ++at) graph().Add({EndOf(at->second), end, least, DependencyKind::kSync, call});
    return has_waited ? std::min(recorded, behind) : recorded;
  }

  struct Cause {
    uint32_t point = 0;
    int64_t ready_ns = INT64_MIN;  // when it alone would have let the work begin
    int64_t least_ns = 0;          // if it was not what the work waited for
    DependencyKind kind = DependencyKind::kStream;
    uint32_t subject = 0;
  };

  Status AddWork(const StopSignal& stop) {
    ASSIGN_OR_RETURN(const StreamWaits events, FindStreamWaits(traces_.parts()[part_], chosen_, stop));
    made_.assumed_events_ = events.assumed;
    made_.unknown_events_ = events.unknown;
    const WorkWaits of_graphs = FindGraphOrder();
    std::vector<Cause> causes;
    for (uint32_t i = 0; i < work().size(); ++i) {
      if (work_begin_[i] == kNoIndex) continue;
      causes.clear();
      AddStreamCause(i, causes);
      const auto add_ended = [&](uint32_t of, DependencyKind kind) {
        if (of == kNoIndex || of == i || work_begin_[of] == kNoIndex || work()[of].end_ns > work()[i].begin_ns) return;
        causes.push_back({EndOf(of), work()[of].end_ns, chosen_.stream_gap_ns(), kind, i});
      };
      const auto add_all = [&](const WorkWaits& waits, DependencyKind kind) {
        const auto [first, end] = waits.equal_range(i);
        for (auto at = first; at != end; ++at) add_ended(at->second, kind);
      };
      add_all(of_graphs, DependencyKind::kGraph);
      add_all(events.of_work, DependencyKind::kEvent);
      const int64_t ready = chosen_.LaunchReady(i);
      if (ready != INT64_MIN) {
        causes.push_back(
            {call_begin_[CallOf(i)], ready, ready - calls()[CallOf(i)].begin_ns, DependencyKind::kLaunch, i});
      }
      AddCauses(i, causes, events.with_unknown.contains(i));
    }
    return OkStatus();
  }

  void AddStreamCause(uint32_t i, std::vector<Cause>& causes) const {
    const uint32_t of = chosen_.Before(i);
    if (of == kNoIndex) return;
    if (work()[of].end_ns <= work()[i].begin_ns) {
      causes.push_back({EndOf(of), work()[of].end_ns, chosen_.stream_gap_ns(), DependencyKind::kStream, i});
      return;
    }
    // It began while the one before it still ran: at the same place of it, as long as nothing else is known.
    causes.push_back(
        {work_begin_[of], work()[i].begin_ns, work()[i].begin_ns - work()[of].begin_ns, DependencyKind::kDevice, of});
  }

  // The cause that was ready last is what the work waited for: from it to the begin lies what was recorded.
  void AddCauses(uint32_t i, const std::vector<Cause>& causes, bool has_unknown_event) {
    const Cause* binding = nullptr;
    for (const Cause& cause : causes) {
      if (binding == nullptr || cause.ready_ns > binding->ready_ns) binding = &cause;
    }
    for (const Cause& cause : causes) {
      const int64_t recorded = work()[i].begin_ns - graph().recorded()[cause.point];
      const bool is_unknown_event = &cause == binding && has_unknown_event;
      graph().Add({cause.point, work_begin_[i], &cause == binding ? recorded : cause.least_ns,
                   is_unknown_event ? DependencyKind::kEvent : cause.kind, is_unknown_event ? i : cause.subject});
    }
  }

  // Of work of a graph but its first, what of the same graph ended last before it. Of what follows a graph on one of
  // its streams, what the graph did last on each of the others.
  WorkWaits FindGraphOrder() const {
    WorkWaits waits;
    std::unordered_map<uint32_t, LastOfStreams> ends;
    for (const auto& [call, of] : chosen_.of_calls()) {
      if (of.size() < 2) continue;
      std::vector<uint32_t> by_end = of;
      std::stable_sort(by_end.begin(), by_end.end(),
                       [this](uint32_t a, uint32_t b) { return work()[a].end_ns < work()[b].end_ns; });
      size_t ended = 0;
      for (const uint32_t i : of) {
        while (ended < by_end.size() && work()[by_end[ended]].end_ns <= work()[i].begin_ns) ++ended;
        if (ended > 0 && by_end[ended - 1] != i && by_end[ended - 1] != chosen_.Before(i))
          waits.emplace(i, by_end[ended - 1]);
        chosen_.KeepLastEnded(i, ends[call]);
      }
    }
    for (uint32_t i = 0; i < work().size(); ++i) {
      const uint32_t of = chosen_.Before(i);
      if (work_begin_[i] == kNoIndex || of == kNoIndex || CallOf(of) == kNoIndex || CallOf(of) == CallOf(i)) continue;
      const auto found = ends.find(CallOf(of));
      if (found == ends.end()) continue;
      for (const auto& [track, last] : found->second) {
        if (track != work()[i].track) waits.emplace(i, last);
      }
    }
    return waits;
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  const DeviceScope& scope_;
  PartReader& reader_;
  const ChosenWork& chosen_;
  WorkDependencies& made_;

  std::map<uint32_t, ThreadTimes> threads_;
  std::vector<ThreadWait> thread_waits_;
  DeviceWaits waits_;
  std::vector<uint32_t> work_begin_;  // its point; its end is the next one
  std::vector<uint32_t> call_begin_;  // the same of calls
};

Result<std::optional<WorkDependencies>> WorkDependencies::Read(const AnalysisTraces& traces, size_t part,
                                                               const DeviceScope& scope, const StopSignal& stop) {
  constexpr size_t kBytesOfEach = 250;
  WorkDependencies made;
  ASSIGN_OR_RETURN(CallsAndWork read, CallsAndWork::Read(traces, part, scope, stop));
  made.work_ = std::make_unique<CallsAndWork>(std::move(read));
  if (scope.cut_ns()) made.work_->CutAt(*scope.cut_ns());
  ChosenWork chosen(*made.work_, *traces.parts()[part].reader, scope, part);
  if (chosen.size() == 0) return std::optional<WorkDependencies>();
  made.unlaunched_ = chosen.unlaunched();
  const size_t known = chosen.calls().size() + chosen.work().size();
  RETURN_IF_ERROR(made.charge().Grow(static_cast<int64_t>(known * kBytesOfEach)));
  RETURN_IF_ERROR(chosen.FindOrders());
  RETURN_IF_ERROR(DependencyMaker(traces, part, scope, chosen, made).Make(stop));
  return std::optional<WorkDependencies>(std::move(made));
}

}  // namespace kprof
