#include "daemon/analysis/functions/dependencies/work_dependencies.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "daemon/analysis/functions/dependencies/stream_waits.h"
#include "daemon/analysis/functions/dependencies/thread_waits.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr int64_t kMostEventGapNs = 20'000;  // a stream goes on that soon behind what it waited for

// The use of a call besides launching, as its name tells.
enum class ApiRole : uint8_t { kOther, kCopy, kFree, kDeviceWait, kWait, kRecord, kStreamWait };

ApiRole ApiRoleOf(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("Synchronize")) return has("DeviceSync") || has("CtxSync") ? ApiRole::kDeviceWait : ApiRole::kWait;
  if (has("StreamWaitEvent")) return ApiRole::kStreamWait;
  if (has("EventRecord")) return ApiRole::kRecord;
  if (has("Memcpy") || has("memcpy")) return ApiRole::kCopy;
  if (has("Free") && !has("FreeAsync")) return ApiRole::kFree;
  return ApiRole::kOther;
}

bool IsThreadCategory(std::string_view category) {
  return category == "cpu_op" || category == "Operator" || category == "operator";
}

// The middle one of these; `otherwise` for none.
int64_t MedianOf(std::vector<int64_t>& values, int64_t otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

class DependencyMaker {
 public:
  DependencyMaker(const AnalysisTraces& traces, size_t part, const DeviceScope& scope)
      : traces_(traces), part_(part), scope_(scope), reader_(*traces.parts()[part].reader) {}

  Result<std::optional<WorkDependencies>> Make(const StopSignal& stop) {
    ASSIGN_OR_RETURN(CallsAndWork read, CallsAndWork::Read(traces_, part_, scope_, stop));
    made_.work_ = std::make_unique<CallsAndWork>(std::move(read));
    if (scope_.cut_ns()) made_.work_->CutAt(*scope_.cut_ns());
    RETURN_IF_ERROR(Choose());
    if (chosen_work_ == 0) return std::optional<WorkDependencies>();
    RETURN_IF_ERROR(made_.charge().Grow(static_cast<int64_t>((calls().size() + work().size()) * kBytesOfEach)));
    RETURN_IF_ERROR(FindRoles());
    RETURN_IF_ERROR(FindThreadWaits(stop));
    made_.graph_ = std::make_unique<DependencyGraph>(FindOrigin());
    AddWorkPoints();
    FindLaunchOrder();
    FindDelays();
    FindWaits();
    AddThreads();
    RETURN_IF_ERROR(AddWork(stop));
    RETURN_IF_ERROR(StillWanted(stop));
    graph().Close();
    return std::optional<WorkDependencies>(std::move(made_));
  }

 private:
  static constexpr size_t kBytesOfEach = 250;

  const std::vector<PartSlice>& calls() const { return made_.work_->calls(); }
  const std::vector<PartSlice>& work() const { return made_.work_->work(); }
  uint32_t CallOf(size_t work) const { return made_.work_->call_of(work); }
  DependencyGraph& graph() { return *made_.graph_; }

  bool IsWithin(int64_t time_ns) const { return time_ns >= from_ns_ && time_ns < to_ns_; }

  Status Choose() {
    from_ns_ = scope_.from_ns(part_).value_or(INT64_MIN);
    to_ns_ = scope_.to_ns(part_).value_or(INT64_MAX);
    is_call_chosen_.resize(calls().size());
    for (size_t i = 0; i < calls().size(); ++i) is_call_chosen_[i] = IsWithin(calls()[i].begin_ns);
    is_work_chosen_.resize(work().size());
    for (size_t i = 0; i < work().size(); ++i) {
      const bool is_launched = CallOf(i) != kNone && is_call_chosen_[CallOf(i)];
      const bool is_cut = work()[i].begin_ns >= scope_.cut_ns().value_or(INT64_MAX);
      is_work_chosen_[i] = !is_cut && (is_launched || IsWithin(work()[i].begin_ns));
      if (!is_work_chosen_[i]) continue;
      ++chosen_work_;
      if (CallOf(i) == kNone) ++made_.unlaunched_;
    }
    return OkStatus();
  }

  Status FindRoles() {
    std::unordered_map<int64_t, ApiRole> roles;
    call_roles_.reserve(calls().size());
    for (const PartSlice& call : calls()) {
      const auto [role, is_new] = roles.try_emplace(call.name);
      if (is_new) {
        ASSIGN_OR_RETURN(const std::string name, reader_.ReadString(call.name));
        role->second = ApiRoleOf(name);
      }
      call_roles_.push_back(role->second);
    }
    return OkStatus();
  }

  Status FindThreadWaits(const StopSignal& stop) {
    EventFilter filter;
    filter.first_begin_ns = scope_.from_ns(part_);
    if (to_ns_ != INT64_MAX) filter.last_begin_ns = to_ns_ - 1;
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
      if (is_call_chosen_[i]) chosen.push_back(calls()[i]);
    }
    threads_ = ThreadActivity(operators, chosen);
    const auto process_of = [this](uint32_t track) { return reader_.tracks()[track].pid.value_or(""); };
    thread_waits_ = kprof::FindThreadWaits(threads_, process_of);
    for (auto& [track, thread] : threads_) {
      thread.Forget();
      thread.end_ns = INT64_MIN;
    }
    // A slice that goes on behind the time that is asked for does not say when the thread is done.
    const auto extend = [this](const PartSlice& slice) {
      threads_[slice.track].Extend(slice.begin_ns, slice.end_ns <= to_ns_ ? slice.end_ns : slice.begin_ns);
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
      if (is_work_chosen_[i]) origin = std::min(origin, work()[i].begin_ns);
    }
    return origin;
  }

  void AddWorkPoints() {
    work_begin_.assign(work().size(), kNone);
    for (size_t i = 0; i < work().size(); ++i) {
      if (!is_work_chosen_[i]) continue;
      work_begin_[i] = graph().AddPoint(work()[i].begin_ns);
      graph().AddPoint(work()[i].end_ns);
      graph().Add({work_begin_[i], EndOf(i), work()[i].end_ns - work()[i].begin_ns, DependencyKind::kDevice,
                   static_cast<uint32_t>(i)});
    }
  }
  uint32_t EndOf(size_t work) const { return work_begin_[work] + 1; }

  // Work of each call in the order of its begin, and of each stream, thread and process in the order of launches.
  void FindLaunchOrder() {
    for (uint32_t i = 0; i < work().size(); ++i) {
      if (work_begin_[i] == kNone) continue;
      by_end_.push_back(i);
      if (CallOf(i) != kNone) of_calls_[CallOf(i)].push_back(i);
    }
    std::sort(by_end_.begin(), by_end_.end(),
              [this](uint32_t a, uint32_t b) { return work()[a].end_ns < work()[b].end_ns; });
    for (auto& [call, of] : of_calls_) {
      std::stable_sort(of.begin(), of.end(),
                       [this](uint32_t a, uint32_t b) { return work()[a].begin_ns < work()[b].begin_ns; });
    }
    for (uint32_t i = 0; i < calls().size(); ++i) {
      if (of_calls_.contains(i)) launches_.push_back(i);
    }
    std::stable_sort(launches_.begin(), launches_.end(),
                     [this](uint32_t a, uint32_t b) { return calls()[a].begin_ns < calls()[b].begin_ns; });
  }

  uint32_t LastEnded(std::span<const uint32_t> of) const {
    return *std::max_element(of.begin(), of.end(),
                             [this](uint32_t a, uint32_t b) { return work()[a].end_ns < work()[b].end_ns; });
  }

  // The work before this on its stream that ended last; kNone: there is none.
  uint32_t Before(size_t i) const { return before_[i]; }

  // How long a launch takes until its work begins on an idle stream: the median, for each name of a call.
  void FindDelays() {
    before_.assign(work().size(), kNone);
    uint32_t last = kNone;
    std::map<int64_t, std::vector<int64_t>> idle;
    std::map<int64_t, int64_t> least;
    for (uint32_t i = 0; i < work().size(); ++i) {
      if (work_begin_[i] == kNone) continue;
      if (last != kNone && work()[last].track != work()[i].track) last = kNone;
      before_[i] = last;
      const uint32_t call = CallOf(i);
      if (call != kNone && is_call_chosen_[call] && of_calls_[call].front() == i) {
        const int64_t delay = work()[i].begin_ns - calls()[call].begin_ns;
        if (delay >= 0) {
          const auto [found, is_new] = least.try_emplace(calls()[call].name, delay);
          if (!is_new) found->second = std::min(found->second, delay);
          if (last == kNone || work()[last].end_ns <= calls()[call].begin_ns) {
            idle[calls()[call].name].push_back(delay);
          }
        }
      }
      if (last == kNone || work()[i].end_ns >= work()[last].end_ns) last = i;
    }
    // A call that never met an idle stream is taken to be as quick as the others.
    std::vector<int64_t> of_all;
    int64_t least_of_all = INT64_MAX;
    for (const auto& [name, delays] : idle) of_all.insert(of_all.end(), delays.begin(), delays.end());
    for (const auto& [name, delay] : least) least_of_all = std::min(least_of_all, delay);
    const int64_t usual = MedianOf(of_all, least_of_all);
    for (const auto& [name, delay] : least) launch_delay_[name] = MedianOf(idle[name], std::min(delay, usual));
    std::vector<int64_t> gaps;
    for (uint32_t i = 0; i < work().size(); ++i) {
      if (work_begin_[i] == kNone || before_[i] == kNone) continue;
      const int64_t gap = work()[i].begin_ns - work()[before_[i]].end_ns;
      if (gap >= 0 && LaunchReady(i) <= work()[before_[i]].end_ns) gaps.push_back(gap);
    }
    stream_gap_ns_ = MedianOf(gaps, 0);
  }

  // When a launch alone would have let it begin; INT64_MIN: no launch of the graph did.
  int64_t LaunchReady(size_t i) const {
    const uint32_t call = CallOf(i);
    if (call == kNone || !is_call_chosen_[call]) return INT64_MIN;
    const auto delay = launch_delay_.find(calls()[call].name);
    const int64_t begin = calls()[call].begin_ns;
    if (begin > work()[i].begin_ns) return INT64_MIN;
    return std::min(work()[i].begin_ns, begin + (delay == launch_delay_.end() ? 0 : delay->second));
  }

  // Of each waiting call, the work that it waited for.
  void FindWaits() {
    wait_for_.assign(calls().size(), kNone);
    std::vector<uint32_t> waiting;
    for (uint32_t i = 0; i < calls().size(); ++i) {
      if (!is_call_chosen_[i]) continue;
      const ApiRole role = call_roles_[i];
      if (role == ApiRole::kCopy) {
        const auto own = of_calls_.find(i);
        if (own == of_calls_.end()) continue;
        const uint32_t last = LastEnded(own->second);
        if (work()[last].end_ns <= calls()[i].end_ns) wait_for_[i] = last;
      } else if (role == ApiRole::kFree || role == ApiRole::kDeviceWait || role == ApiRole::kWait) {
        waiting.push_back(i);
      }
    }
    std::stable_sort(waiting.begin(), waiting.end(),
                     [this](uint32_t a, uint32_t b) { return calls()[a].begin_ns < calls()[b].begin_ns; });
    std::unordered_map<uint32_t, uint32_t> last_of_threads;  // launched last by each thread
    std::map<std::string, LastOfStreams> processes;
    auto next = launches_.begin();
    for (const uint32_t call : waiting) {
      for (; next != launches_.end() && calls()[*next].begin_ns < calls()[call].begin_ns; ++next) {
        const std::vector<uint32_t>& launched = of_calls_[*next];
        last_of_threads[calls()[*next].track] = LastEnded(launched);
        LastOfStreams& streams = processes[ProcessOf(calls()[*next].track)];
        for (const uint32_t of : launched) KeepLastEnded(of, streams);
      }
      const LastOfStreams& streams = processes[ProcessOf(calls()[call].track)];
      const auto of_thread = last_of_threads.find(calls()[call].track);
      wait_for_[call] = FindWaitOf(call, streams, of_thread == last_of_threads.end() ? kNone : of_thread->second);
      if (call_roles_[call] == ApiRole::kWait || wait_for_[call] == kNone) continue;
      // It waits for all streams of its process.
      for (const auto& [track, of] : streams) {
        if (of != wait_for_[call] && work()[of].end_ns <= work()[wait_for_[call]].end_ns)
          also_wait_for_.emplace(call, of);
      }
    }
    std::vector<int64_t> returns;
    for (uint32_t i = 0; i < calls().size(); ++i) {
      if (wait_for_[i] == kNone) continue;
      const int64_t end = work()[wait_for_[i]].end_ns;
      if (end > calls()[i].begin_ns) returns.push_back(calls()[i].end_ns - end);
    }
    return_ns_ = MedianOf(returns, 0);
  }

  std::string ProcessOf(uint32_t track) const { return reader_.tracks()[track].pid.value_or(""); }

  using LastOfStreams = std::map<uint32_t, uint32_t>;  // by track, what ends last

  void KeepLastEnded(uint32_t of, LastOfStreams& streams) const {
    const auto [last, is_new] = streams.try_emplace(work()[of].track, of);
    if (!is_new && work()[of].end_ns > work()[last->second].end_ns) last->second = of;
  }

  uint32_t FindWaitOf(uint32_t call, const LastOfStreams& streams, uint32_t of_thread) const {
    const PartSlice& slice = calls()[call];
    uint32_t latest = kNone;
    for (const auto& [track, of] : streams) {
      if (latest == kNone || work()[of].end_ns > work()[latest].end_ns) latest = of;
    }
    const ApiRole role = call_roles_[call];
    const auto ends_in_time = [&](uint32_t of) { return of != kNone && work()[of].end_ns <= slice.end_ns; };
    if (role == ApiRole::kFree) {
      return ends_in_time(latest) && work()[latest].end_ns > slice.begin_ns ? latest : kNone;
    }
    if (role == ApiRole::kDeviceWait && ends_in_time(latest)) return latest;
    const bool is_waited_for = ends_in_time(of_thread) && work()[of_thread].end_ns > slice.begin_ns;
    if (role == ApiRole::kWait && is_waited_for) return of_thread;
    // Of all that ended while it waited, the last that had been launched before.
    const auto begin = std::upper_bound(by_end_.begin(), by_end_.end(), slice.begin_ns,
                                        [this](int64_t time, uint32_t of) { return time < work()[of].end_ns; });
    auto at = std::upper_bound(begin, by_end_.end(), slice.end_ns,
                               [this](int64_t time, uint32_t of) { return time < work()[of].end_ns; });
    constexpr int kMostTried = 1024;
    for (int tried = 0; at != begin && tried < kMostTried; ++tried) {
      const uint32_t launch = CallOf(*--at);
      const bool is_before = launch == kNone || calls()[launch].begin_ns < slice.begin_ns;
      if (is_before && (launch == kNone || ProcessOf(calls()[launch].track) == ProcessOf(slice.track))) return *at;
    }
    return role == ApiRole::kWait && ends_in_time(of_thread) ? of_thread : kNone;
  }

  // A thread's points in their order: a point of its own for each time at which something else depends on it.
  struct HostPoint {
    int64_t time_ns = 0;
    bool is_begin = false;  // of a call; ends of one time come first, unless they end what begins then
    uint32_t number = 0;
    uint32_t call = kNone;
  };

  void AddThreads() {
    call_begin_.assign(calls().size(), kNone);
    std::map<uint32_t, std::vector<HostPoint>> points;
    for (uint32_t i = 0; i < calls().size(); ++i) {
      if (!is_call_chosen_[i]) continue;
      const bool is_empty = calls()[i].begin_ns == calls()[i].end_ns;
      points[calls()[i].track].push_back({calls()[i].begin_ns, true, 2 * i, i});
      points[calls()[i].track].push_back({calls()[i].end_ns, is_empty, 2 * i + 1, i});
    }
    // Behind the points of calls, in the order in which thread_waits_ has them.
    auto number = static_cast<uint32_t>(2 * calls().size());
    std::map<std::pair<uint32_t, int64_t>, uint32_t> marks;
    const auto mark = [&](uint32_t track, int64_t time) {
      if (!marks.try_emplace({track, time}, kNone).second) return;
      points[track].push_back({time, false, number++, kNone});
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
    uint32_t last = kNone;
    int64_t last_ns = 0;
    for (const HostPoint& point : points) {
      const uint32_t added = graph().AddPoint(point.time_ns);
      int64_t least = point.time_ns - last_ns;
      if (point.call == kNone) {
        marks[{track, point.time_ns}] = added;
        if (is_woken.contains({track, point.time_ns})) least = 0;
      } else if (call_begin_[point.call] == kNone) {
        call_begin_[point.call] = added;
      } else if (wait_for_[point.call] != kNone) {
        least = AddWait(point.call, added, least);
      }
      if (last != kNone) graph().Add({last, added, least, DependencyKind::kHost, track});
      last = added;
      last_ns = point.time_ns;
    }
  }

  // Returns the time that the call takes of its thread, whatever it waits for.
  int64_t AddWait(uint32_t call, uint32_t end, int64_t recorded) {
    const uint32_t of = wait_for_[call];
    const int64_t behind = calls()[call].end_ns - work()[of].end_ns;
    const bool has_waited = work()[of].end_ns > calls()[call].begin_ns;
    const int64_t least = has_waited ? behind : std::min(behind, return_ns_);
    graph().Add({EndOf(of), end, least, DependencyKind::kSync, call});
    const auto [first, last] = also_wait_for_.equal_range(call);
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
    RETURN_IF_ERROR(FindStreamWaits(stop));
    const WorkWaits of_graphs = FindGraphOrder();
    std::vector<Cause> causes;
    for (uint32_t i = 0; i < work().size(); ++i) {
      if (work_begin_[i] == kNone) continue;
      causes.clear();
      AddStreamCause(i, causes);
      const auto add_ended = [&](uint32_t of, DependencyKind kind) {
        if (of == kNone || of == i || work_begin_[of] == kNone || work()[of].end_ns > work()[i].begin_ns) return;
        causes.push_back({EndOf(of), work()[of].end_ns, stream_gap_ns_, kind, i});
      };
      const auto add_all = [&](const WorkWaits& waits, DependencyKind kind) {
        const auto [first, end] = waits.equal_range(i);
        for (auto at = first; at != end; ++at) add_ended(at->second, kind);
      };
      add_all(of_graphs, DependencyKind::kGraph);
      add_all(waits_of_, DependencyKind::kEvent);
      const int64_t ready = LaunchReady(i);
      if (ready != INT64_MIN) {
        causes.push_back(
            {call_begin_[CallOf(i)], ready, ready - calls()[CallOf(i)].begin_ns, DependencyKind::kLaunch, i});
      }
      AddCauses(i, causes);
    }
    return OkStatus();
  }

  void AddStreamCause(uint32_t i, std::vector<Cause>& causes) const {
    const uint32_t of = Before(i);
    if (of == kNone) return;
    if (work()[of].end_ns <= work()[i].begin_ns) {
      causes.push_back({EndOf(of), work()[of].end_ns, stream_gap_ns_, DependencyKind::kStream, i});
      return;
    }
    // It began while the one before it still ran: at the same place of it, as long as nothing else is known.
    causes.push_back(
        {work_begin_[of], work()[i].begin_ns, work()[i].begin_ns - work()[of].begin_ns, DependencyKind::kDevice, of});
  }

  // The cause that was ready last is what the work waited for: from it to the begin lies what was recorded.
  void AddCauses(uint32_t i, const std::vector<Cause>& causes) {
    const Cause* binding = nullptr;
    for (const Cause& cause : causes) {
      if (binding == nullptr || cause.ready_ns > binding->ready_ns) binding = &cause;
    }
    for (const Cause& cause : causes) {
      const int64_t recorded = work()[i].begin_ns - graph().recorded()[cause.point];
      const bool is_unknown_event = &cause == binding && has_waited_.contains(i);
      graph().Add({cause.point, work_begin_[i], &cause == binding ? recorded : cause.least_ns,
                   is_unknown_event ? DependencyKind::kEvent : cause.kind, is_unknown_event ? i : cause.subject});
    }
  }

  using WorkWaits = std::unordered_multimap<uint32_t, uint32_t>;

  // Of work of a graph but its first, what of the same graph ended last before it. Of what follows a graph on one of
  // its streams, what the graph did last on each of the others.
  WorkWaits FindGraphOrder() const {
    WorkWaits waits;
    std::unordered_map<uint32_t, LastOfStreams> ends;
    for (const auto& [call, of] : of_calls_) {
      if (of.size() < 2) continue;
      std::vector<uint32_t> by_end = of;
      std::stable_sort(by_end.begin(), by_end.end(),
                       [this](uint32_t a, uint32_t b) { return work()[a].end_ns < work()[b].end_ns; });
      size_t ended = 0;
      for (const uint32_t i : of) {
        while (ended < by_end.size() && work()[by_end[ended]].end_ns <= work()[i].begin_ns) ++ended;
        if (ended > 0 && by_end[ended - 1] != i && by_end[ended - 1] != before_[i]) waits.emplace(i, by_end[ended - 1]);
        KeepLastEnded(i, ends[call]);
      }
    }
    for (uint32_t i = 0; i < work().size(); ++i) {
      const uint32_t of = before_[i];
      if (work_begin_[i] == kNone || of == kNone || CallOf(of) == kNone || CallOf(of) == CallOf(i)) continue;
      const auto found = ends.find(CallOf(of));
      if (found == ends.end()) continue;
      for (const auto& [track, last] : found->second) {
        if (track != work()[i].track) waits.emplace(i, last);
      }
    }
    return waits;
  }

  // Work that waits for an event of another stream: the first that is launched on a stream behind the wait.
  Status FindStreamWaits(const StopSignal& stop) {
    ASSIGN_OR_RETURN(const std::vector<StreamWait> told, ReadStreamWaits(traces_.parts()[part_], stop));
    std::unordered_map<int64_t, const StreamWait*> by_correlation;
    for (const StreamWait& wait : told) by_correlation[wait.correlation] = &wait;
    std::unordered_map<int64_t, uint32_t> records;  // calls by correlation
    struct Thread {
      uint32_t launched = kNone;  // the last work of the thread
      uint32_t recorded = kNone;  // of its last record of an event: the work before it
      std::vector<uint32_t> waits;
      int64_t waited_ns = INT64_MIN;               // its last wait of which nothing is told
      bool has_waited = false;                     // since it launched something
      std::unordered_map<uint32_t, int64_t> seen;  // by stream, the last wait before its last launch
    };
    std::unordered_map<uint32_t, Thread> threads;
    std::unordered_map<uint32_t, uint32_t> last_of_streams;
    std::unordered_map<int64_t, std::unordered_map<uint32_t, uint32_t>> at_record;  // the last of each stream
    std::unordered_map<uint32_t, std::vector<uint32_t>> waiting_streams;            // by track, work to wait for
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < calls().size(); ++i) {
      const ApiRole role = call_roles_[i];
      if (!is_call_chosen_[i]) continue;
      if (of_calls_.contains(i) || role == ApiRole::kRecord || role == ApiRole::kStreamWait) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [this](uint32_t a, uint32_t b) { return calls()[a].begin_ns < calls()[b].begin_ns; });
    for (const StreamWait& wait : told) at_record[wait.record_correlation];
    for (const uint32_t call : order) {
      Thread& thread = threads[calls()[call].track];
      const auto record = at_record.find(calls()[call].correlation);
      if (record != at_record.end()) record->second = last_of_streams;
      if (call_roles_[call] == ApiRole::kRecord) {
        thread.recorded = thread.launched;
      } else if (call_roles_[call] == ApiRole::kStreamWait) {
        const auto wait = by_correlation.find(calls()[call].correlation);
        if (wait != by_correlation.end()) {
          const auto recorded = at_record.find(wait->second->record_correlation);
          const auto& last = recorded->second.empty() ? last_of_streams : recorded->second;
          const auto of = last.find(wait->second->on_track);
          if (of != last.end()) waiting_streams[wait->second->track].push_back(of->second);
        } else {
          if (thread.recorded != kNone) thread.waits.push_back(thread.recorded);
          thread.waited_ns = calls()[call].begin_ns;
          thread.has_waited = true;
        }
      }
      const auto launched = of_calls_.find(call);
      if (launched == of_calls_.end()) continue;
      const uint32_t first = launched->second.front();
      for (const uint32_t of : thread.waits) {
        if (work()[of].track == work()[first].track || work()[of].end_ns > work()[first].begin_ns) continue;
        waits_of_.emplace(first, of);
        ++made_.assumed_events_;
      }
      // Records that the trace does not have, or of another thread: the end of the work tells.
      const auto [seen, is_first] = thread.seen.try_emplace(work()[first].track, INT64_MIN);
      const bool is_untold = thread.has_waited && thread.waits.empty();
      if (seen->second < thread.waited_ns) FindWaitByEnd(first, thread.waited_ns, is_untold);
      seen->second = thread.waited_ns;
      thread.has_waited = false;
      // A wait of a stream that the thread launches nothing on is some other thread's.
      thread.waits.clear();
      for (const uint32_t i : launched->second) {
        const auto waits = waiting_streams.find(work()[i].track);
        if (waits != waiting_streams.end()) {
          for (const uint32_t of : waits->second) waits_of_.emplace(i, of);
          waiting_streams.erase(waits);
        }
        last_of_streams[work()[i].track] = i;
      }
      thread.launched = launched->second.back();
    }
    return OkStatus();
  }

  // Takes the work that ended last of all that was launched on other streams before the wait, if it ended right before
  // `i` began and nothing else had kept that so long. `is_untold`: it is launched right behind the wait, and no record
  // tells for what.
  void FindWaitByEnd(uint32_t i, int64_t waited_ns, bool is_untold) {
    const int64_t begin = work()[i].begin_ns;
    int64_t ready = LaunchReady(i);
    if (Before(i) != kNone) ready = std::max(ready, work()[Before(i)].end_ns);
    if (ready >= begin) return;
    const std::string process = ProcessOf(calls()[CallOf(i)].track);
    auto at = std::upper_bound(by_end_.begin(), by_end_.end(), begin,
                               [this](int64_t time, uint32_t of) { return time < work()[of].end_ns; });
    constexpr int kMostTried = 1024;
    for (int tried = 0; at != by_end_.begin() && tried < kMostTried; ++tried) {
      const uint32_t of = *--at;
      if (work()[of].end_ns <= ready || work()[of].end_ns < begin - kMostEventGapNs) break;
      const uint32_t call = CallOf(of);
      if (of == i || work()[of].track == work()[i].track) continue;
      if (call != kNone && (calls()[call].begin_ns > waited_ns || ProcessOf(calls()[call].track) != process)) continue;
      const auto [first, end] = waits_of_.equal_range(i);
      if (std::any_of(first, end, [of](const auto& wait) { return wait.second == of; })) return;
      waits_of_.emplace(i, of);
      ++made_.assumed_events_;
      return;
    }
    if (is_untold && ready < begin - kMostEventGapNs) {
      has_waited_.insert(i);
      ++made_.unknown_events_;
    }
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  const DeviceScope& scope_;
  PartReader& reader_;
  WorkDependencies made_;

  int64_t from_ns_ = INT64_MIN;
  int64_t to_ns_ = INT64_MAX;
  std::vector<uint8_t> is_call_chosen_;
  std::vector<uint8_t> is_work_chosen_;
  size_t chosen_work_ = 0;
  std::vector<ApiRole> call_roles_;
  std::map<uint32_t, ThreadTimes> threads_;
  std::vector<ThreadWait> thread_waits_;
  std::vector<uint32_t> work_begin_;  // its point; its end is the next one
  std::vector<uint32_t> call_begin_;  // the same of calls
  std::vector<uint32_t> by_end_;      // chosen work, as it ended
  std::unordered_map<uint32_t, std::vector<uint32_t>> of_calls_;
  std::vector<uint32_t> launches_;  // calls with work, as they began
  std::vector<uint32_t> before_;
  std::unordered_map<int64_t, int64_t> launch_delay_;  // by the name of the call
  int64_t stream_gap_ns_ = 0;
  int64_t return_ns_ = 0;
  std::vector<uint32_t> wait_for_;                             // of each call, what it waited for
  std::unordered_multimap<uint32_t, uint32_t> also_wait_for_;  // and what had ended before
  WorkWaits waits_of_;                                         // for events
  std::unordered_set<uint32_t> has_waited_;                    // for an event of which nothing is known
};

Result<std::optional<WorkDependencies>> WorkDependencies::Read(const AnalysisTraces& traces, size_t part,
                                                               const DeviceScope& scope, const StopSignal& stop) {
  return DependencyMaker(traces, part, scope).Make(stop);
}

}  // namespace kprof
