#include "daemon/analysis/operators/interval_sweep.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {

void AppendInterval(int64_t begin_ns, int64_t end_ns, std::vector<Interval>& pieces) {
  if (end_ns <= begin_ns) return;
  if (!pieces.empty() && begin_ns <= pieces.back().end_ns) {
    pieces.back().end_ns = std::max(pieces.back().end_ns, end_ns);
  } else {
    pieces.push_back({begin_ns, end_ns});
  }
}

void IntervalSweep::Add(int64_t begin_ns, int64_t end_ns) {
  begin_ns = std::max(begin_ns, settled_ns_);
  if (begin_ns >= end_ns) return;
  if (!open_.empty() && begin_ns >= open_.back().begin_ns && begin_ns <= open_.back().end_ns) {
    open_.back().end_ns = std::max(open_.back().end_ns, end_ns);
    return;
  }
  in_order_ &= open_.empty() || begin_ns > open_.back().end_ns;
  open_.push_back({begin_ns, end_ns});
}

void IntervalSweep::Settle(int64_t before_ns, std::vector<Interval>& pieces) {
  settled_ns_ = std::max(settled_ns_, before_ns);
  if (!in_order_) {
    std::sort(open_.begin(), open_.end(), [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    size_t last = 0;
    for (size_t i = 1; i < open_.size(); ++i) {
      if (open_[i].begin_ns <= open_[last].end_ns) {
        open_[last].end_ns = std::max(open_[last].end_ns, open_[i].end_ns);
      } else {
        open_[++last] = open_[i];
      }
    }
    open_.resize(last + 1);
    in_order_ = true;
  }
  size_t gone = 0;
  for (; gone < open_.size() && open_[gone].begin_ns < before_ns; ++gone) {
    if (open_[gone].end_ns > before_ns) {
      pieces.push_back({open_[gone].begin_ns, before_ns});
      open_[gone].begin_ns = before_ns;
      break;
    }
    pieces.push_back(open_[gone]);
  }
  open_.erase(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(gone));
}

int64_t OverlapOf(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  int64_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t begin = std::max(a[i].begin_ns, b[j].begin_ns);
    const int64_t end = std::min(a[i].end_ns, b[j].end_ns);
    if (end > begin) both += end - begin;
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return both;
}

void AddTimesAtOnce(std::span<const std::vector<Interval>> unions, std::span<int64_t> ns) {
  std::vector<size_t> next(unions.size(), 0);  // of each the first that has not ended
  int64_t now = std::numeric_limits<int64_t>::min();
  while (true) {
    size_t running = 0;
    int64_t until = std::numeric_limits<int64_t>::max();
    bool is_over = true;
    for (size_t i = 0; i < unions.size(); ++i) {
      while (next[i] < unions[i].size() && unions[i][next[i]].end_ns <= now) ++next[i];
      if (next[i] == unions[i].size()) continue;
      const Interval& interval = unions[i][next[i]];
      is_over = false;
      const bool is_running = interval.begin_ns <= now;
      if (is_running) running |= size_t{1} << i;
      until = std::min(until, is_running ? interval.end_ns : interval.begin_ns);
    }
    if (is_over) return;
    if (running != 0) ns[running] += until - now;
    now = until;
  }
}

namespace {

class Sweep {
 public:
  Sweep(PartReader& reader, std::span<const EventFilter> filters, std::span<const uint32_t> groups,
        const SeeStretch& see)
      : reader_(reader), filters_(filters), groups_(groups), see_(see), pieces_(filters.size()) {
    size_t count = 0;
    for (const uint32_t group : groups) count = std::max(count, size_t{group} + 1);
    states_.resize(count);
  }

  Status Add(size_t which, const Segment& segment, const RowSelection& selection) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    RETURN_IF_ERROR(GatherValues(reader_, segment, EventColumn::kTime, selection, times_));
    RETURN_IF_ERROR(GatherValues(reader_, segment, EventColumn::kDuration, selection, durations_));
    const int64_t from = filters_[which].from_ns.value_or(INT64_MIN);
    const int64_t to = filters_[which].to_ns.value_or(INT64_MAX);
    size_t at = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      const TrackRun run = runs[i];
      if (!selection.all && (at == selection.rows.size() || selection.rows[at] >= run.end)) continue;
      State& state = Touch(groups_[run.track]);
      IntervalSweep& sweep = state.sweeps[which];
      const size_t first = at;
      for (; at < times_.size() && (selection.all ? at : selection.rows[at]) < run.end; ++at) {
        const int64_t begin = SafeTime(times_[at]);
        sweep.Add(std::max(begin, from), std::min(SafeEndOf(begin, durations_[at]), to));
      }
      state.slices[which] += static_cast<int64_t>(at - first);
    }
    return OkStatus();
  }

  // Nothing that comes begins before that.
  void Settle(int64_t before_ns) {
    size_t kept = 0;
    for (const uint32_t group : touched_) {
      State& state = states_[group];
      bool is_open = false;
      for (size_t i = 0; i < pieces_.size(); ++i) {
        pieces_[i].clear();
        state.sweeps[i].Settle(before_ns, pieces_[i]);
        is_open |= !state.sweeps[i].empty();
      }
      see_(group, pieces_, state.slices);
      std::fill(state.slices.begin(), state.slices.end(), 0);
      state.is_touched = is_open;
      if (is_open) touched_[kept++] = group;
    }
    touched_.resize(kept);
  }

 private:
  struct State {
    std::vector<IntervalSweep> sweeps;  // by filter
    std::vector<int64_t> slices;
    bool is_touched = false;
  };

  State& Touch(uint32_t group) {
    State& state = states_[group];
    if (!state.is_touched) {
      state.is_touched = true;
      state.sweeps.resize(filters_.size());
      state.slices.resize(filters_.size());
      touched_.push_back(group);
    }
    return state;
  }

  PartReader& reader_;
  const std::span<const EventFilter> filters_;
  const std::span<const uint32_t> groups_;
  const SeeStretch& see_;
  std::vector<std::vector<Interval>> pieces_;
  std::vector<State> states_;
  std::vector<uint32_t> touched_;
  std::vector<int64_t> times_;  // of the rows selected
  std::vector<int64_t> durations_;
};

}  // namespace

Status SweepSlices(const TracePart& part, std::span<const EventFilter> filters, std::span<const uint32_t> groups,
                   const StopSignal& stop, const SeeStretch& see) {
  std::vector<PartFilter> bound;
  for (const EventFilter& filter : filters) {
    ASSIGN_OR_RETURN(PartFilter one, PartFilter::Bind(filter, part, EventKind::kSlice));
    bound.push_back(std::move(one));
  }
  const std::span<const Segment> segments = part.reader->segments(EventKind::kSlice);
  std::vector<const Segment*> order;
  for (const Segment& segment : segments) order.push_back(&segment);
  std::sort(order.begin(), order.end(), [](const Segment* a, const Segment* b) {
    return std::pair(a->min_time_ns, a->id) < std::pair(b->min_time_ns, b->id);
  });
  Sweep sweep(*part.reader, filters, groups, see);
  RowSelection selection;
  for (const Segment* segment : order) {
    RETURN_IF_ERROR(StillWanted(stop));
    bool has_settled = false;
    for (size_t i = 0; i < bound.size(); ++i) {
      ASSIGN_OR_RETURN(const bool may, bound[i].MayMatch(*segment));
      if (!may) continue;
      if (!has_settled) sweep.Settle(segment->min_time_ns);
      has_settled = true;
      RETURN_IF_ERROR(bound[i].Select(*segment, selection));
      if (selection.all || !selection.rows.empty()) RETURN_IF_ERROR(sweep.Add(i, *segment, selection));
    }
  }
  sweep.Settle(INT64_MAX);
  return OkStatus();
}

}  // namespace kprof
