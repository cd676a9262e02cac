#include "daemon/analysis/functions/neuron/neuron_executions.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace kprof {
namespace {

int64_t OrderOf(const NeuronCoreRow& row) {
  if (row.start_ns != kNoValue) return row.start_ns;
  if (row.end_ns != kNoValue) return row.end_ns;
  return row.device_start_ns != kNoValue ? row.device_start_ns : row.device_end_ns;
}

bool HasHostTimes(const NeuronCoreRow& row) {
  return row.start_ns != kNoValue && row.end_ns >= row.start_ns;
}

// Where something is in time, on the host's clock: a moment where only its begin or its end is known.
struct HostSpan {
  int64_t begin_ns = kNoValue;
  int64_t end_ns = kNoValue;

  bool is_known() const { return begin_ns != kNoValue; }
  int64_t ns() const { return end_ns - begin_ns; }
  void Add(const HostSpan& other) {
    if (!other.is_known()) return;
    begin_ns = is_known() ? std::min(begin_ns, other.begin_ns) : other.begin_ns;
    end_ns = std::max(end_ns, other.end_ns);
  }
};

HostSpan HostSpanOf(const NeuronCoreRow& row) {
  if (row.start_ns == kNoValue) return {row.end_ns, row.end_ns};
  return {row.start_ns, std::max(row.start_ns, row.end_ns)};
}

// The time that both take; below 0: so far they are apart. REQUIRES: both are known.
int64_t CommonNs(const HostSpan& a, const HostSpan& b) {
  return std::min(a.end_ns, b.end_ns) - std::max(a.begin_ns, b.begin_ns);
}

// The rows of one execution, while they are put together.
struct ExecutionRows {
  std::vector<const NeuronCoreRow*> rows;
  HostSpan span;

  void Add(const NeuronCoreRow& row) {
    rows.push_back(&row);
    span.Add(HostSpanOf(row));
  }
  bool Has(int64_t core) const {
    return std::any_of(rows.begin(), rows.end(), [&](const NeuronCoreRow* row) { return row->core == core; });
  }
  // It has no row of one of the other's cores, nor of another model.
  bool CanBeOneWith(const NeuronCoreRow& other) const {
    return std::none_of(rows.begin(), rows.end(), [&](const NeuronCoreRow* row) {
      return (row->core == other.core && row->core != kNoValue) ||
             (row->model != other.model && row->model != 0 && other.model != 0);
    });
  }
  int64_t last_ns() const { return span.end_ns; }
};

bool HasNoId(const ExecutionRows& of) {
  return std::none_of(of.rows.begin(), of.rows.end(),
                      [](const NeuronCoreRow* row) { return row->exec_id != kNoValue; });
}

bool HaveOneTracking(const ExecutionRows& of) {
  const int64_t tracking_id = of.rows.front()->tracking_id;
  return tracking_id != kNoValue && std::all_of(of.rows.begin(), of.rows.end(), [&](const NeuronCoreRow* row) {
           return row->tracking_id == tracking_id;
         });
}

NeuronExecution ExecutionOf(const ExecutionRows& of) {
  NeuronExecution execution;
  const NeuronCoreRow& first = *of.rows.front();
  execution.of = first.of;
  execution.exec_id = first.exec_id;
  execution.model = first.model;
  execution.rows = static_cast<int64_t>(of.rows.size());
  execution.is_by_time = of.rows.size() > 1 && HasNoId(of) && !HaveOneTracking(of);
  bool are_on_host = true;
  int64_t longest_ns = 0;
  std::vector<Interval> intervals;
  for (const NeuronCoreRow* row : of.rows) {
    if (execution.seq_id == kNoValue) execution.seq_id = row->seq_id;
    if (row->start_ns != kNoValue) {
      execution.start_ns = execution.start_ns == kNoValue ? row->start_ns : std::min(execution.start_ns, row->start_ns);
    }
    execution.end_ns = std::max(execution.end_ns, row->end_ns);
    const std::optional<int64_t> duration_ns = row->duration_ns();
    if (!duration_ns) {
      execution.is_whole = false;
      continue;
    }
    execution.is_known = true;
    execution.core_ns = SaturatingSum(execution.core_ns, *duration_ns);
    longest_ns = std::max(longest_ns, *duration_ns);
    are_on_host &= HasHostTimes(*row);
    if (HasHostTimes(*row)) intervals.push_back({row->start_ns, row->end_ns});
  }
  execution.ns = longest_ns;
  // Clocks of several cores have nothing to do with each other: only on the host's they can be laid over each other.
  if (are_on_host && intervals.size() > 1) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    std::vector<Interval> pieces;
    for (const Interval& interval : intervals) AppendInterval(interval.begin_ns, interval.end_ns, pieces);
    execution.ns = 0;
    for (const Interval& piece : pieces) execution.ns += piece.end_ns - piece.begin_ns;
  }
  return execution;
}

// An end tells less than a begin: not its execution.
bool IsEndAlone(const NeuronCoreRow& row) {
  return row.start_ns == kNoValue && row.device_start_ns == kNoValue && row.exec_id == kNoValue;
}

// A row by what its execution is told by. Without an id of the execution, the tracking id is the same for all cores of
// one, if anything is.
struct KeyedRow {
  bool has_id = false;
  int64_t id = 0;
  int64_t order_ns = 0;
  const NeuronCoreRow* row = nullptr;

  explicit KeyedRow(const NeuronCoreRow& of)
      : has_id(of.exec_id != kNoValue), id(has_id ? of.exec_id : of.tracking_id), order_ns(OrderOf(of)), row(&of) {}
  bool IsOfOneKey(const KeyedRow& other) const {
    return id == other.id && has_id == other.has_id && row->of == other.row->of;
  }
  bool operator<(const KeyedRow& other) const {
    if (id != other.id) return id < other.id;
    if (has_id != other.has_id) return other.has_id;
    if (!(row->of == other.row->of)) return row->of < other.row->of;
    return order_ns != other.order_ns ? order_ns < other.order_ns : row < other.row;
  }
};

// Ids begin again, with each model: rows of one id are one execution where they overlap, or nearly, as clocks of
// several cores are put together to some microseconds. Where no row has a place in time, different cores are one
// execution.
std::vector<ExecutionRows> ExecutionsByIds(std::vector<KeyedRow>& rows) {
  std::sort(rows.begin(), rows.end());
  std::vector<ExecutionRows> all;
  size_t first = 0;  // of one key
  for (size_t i = 0; i < rows.size(); ++i) {
    const NeuronCoreRow& row = *rows[i].row;
    if (i > 0 && !rows[i - 1].IsOfOneKey(rows[i])) first = all.size();
    const bool has_id = row.exec_id != kNoValue || row.tracking_id != kNoValue;
    const HostSpan span = HostSpanOf(row);
    constexpr size_t kMostLooks = 8;
    constexpr int64_t kNearlyNs = 50'000;
    ExecutionRows* of = nullptr;
    int64_t most_ns = 0;
    for (size_t back = 0; has_id && back < std::min(all.size() - first, kMostLooks); ++back) {
      ExecutionRows& candidate = all[all.size() - 1 - back];
      if (!candidate.CanBeOneWith(row)) continue;
      if (!span.is_known() || !candidate.span.is_known()) {
        if (of == nullptr && row.core != kNoValue && !candidate.Has(kNoValue)) {
          of = &candidate;
          most_ns = INT64_MIN;
        }
        continue;
      }
      const int64_t common_ns = CommonNs(candidate.span, span);
      if (-common_ns > std::max({kNearlyNs, candidate.span.ns(), span.ns()})) continue;
      if (of != nullptr && common_ns <= most_ns) continue;
      of = &candidate;
      most_ns = common_ns;
    }
    if (of == nullptr) of = &all.emplace_back();
    of->Add(row);
  }
  return all;
}

// A NeuronCore runs one execution at a time: rows without an id of the execution, of different physical cores or of
// none that is told, are one where they take most of their time together.
void JoinWithoutIds(std::vector<ExecutionRows>& all) {
  std::vector<size_t> in_order;
  for (size_t i = 0; i < all.size(); ++i) {
    if (HasNoId(all[i]) && all[i].span.is_known()) in_order.push_back(i);
  }
  if (in_order.size() < 2) return;
  const auto place_of = [&](size_t i) {
    const ExecutionRows& of = all[i];
    return std::tuple(of.rows.front()->of, of.span.begin_ns, of.span.end_ns, i);
  };
  std::sort(in_order.begin(), in_order.end(), [&](size_t a, size_t b) { return place_of(a) < place_of(b); });
  std::vector<size_t> kept;
  for (const size_t i : in_order) {
    ExecutionRows& one = all[i];
    constexpr size_t kMostLooks = 8;
    ExecutionRows* of = nullptr;
    int64_t most_ns = -1;
    for (size_t back = 0; back < std::min(kept.size(), kMostLooks); ++back) {
      ExecutionRows& candidate = all[kept[kept.size() - 1 - back]];
      if (!(candidate.rows.front()->of == one.rows.front()->of)) break;
      const int64_t common_ns = CommonNs(candidate.span, one.span);
      if (common_ns <= most_ns || common_ns < std::min(candidate.span.ns(), one.span.ns()) / 2) continue;
      const auto can_be = [&](const NeuronCoreRow* row) { return candidate.CanBeOneWith(*row); };
      if (!std::all_of(one.rows.begin(), one.rows.end(), can_be)) continue;
      of = &candidate;
      most_ns = common_ns;
    }
    if (of == nullptr) {
      kept.push_back(i);
      continue;
    }
    for (const NeuronCoreRow* row : one.rows) of->Add(*row);
    one.rows.clear();
  }
  std::erase_if(all, [](const ExecutionRows& of) { return of.rows.empty(); });
}

// An end whose begin was lost is of the execution that began last before it on its NeuronCore, if that lacks a core;
// else it is all that is left of one.
void JoinEnds(const std::vector<const NeuronCoreRow*>& ends, std::vector<ExecutionRows>& all) {
  if (ends.empty()) return;
  std::map<NeuronCoreKey, std::vector<std::pair<int64_t, size_t>>> begins;
  std::map<NeuronCoreKey, size_t> most_rows;
  for (size_t i = 0; i < all.size(); ++i) {
    const NeuronCoreRow& row = *all[i].rows.front();
    if (row.start_ns != kNoValue) begins[row.of].emplace_back(row.start_ns, i);
    size_t& most = most_rows[row.of];
    most = std::max(most, all[i].rows.size());
  }
  for (auto& [of, in_order] : begins) std::sort(in_order.begin(), in_order.end());
  for (const NeuronCoreRow* end : ends) {
    const std::vector<std::pair<int64_t, size_t>>& before = begins[end->of];
    const auto behind = std::lower_bound(before.begin(), before.end(), std::pair(end->end_ns, size_t{0}));
    const bool is_placed = end->end_ns != kNoValue && behind != before.begin();
    ExecutionRows* of = is_placed ? &all[(behind - 1)->second] : nullptr;
    if (of != nullptr && of->Has(end->core) && end->core != kNoValue) of = nullptr;
    // A NeuronCore runs one execution at a time: an end within one is of one of its cores.
    if (of != nullptr && of->rows.size() >= most_rows[end->of] && end->end_ns > of->last_ns()) of = nullptr;
    if (of == nullptr) of = &all.emplace_back();
    of->Add(*end);
  }
}

}  // namespace

std::vector<NeuronExecution> NeuronExecutionsOf(const NeuronEvents& events) {
  std::vector<KeyedRow> rows;
  std::vector<const NeuronCoreRow*> ends_alone;
  rows.reserve(events.core_rows.size());
  for (const NeuronCoreRow& row : events.core_rows) {
    if (IsEndAlone(row)) {
      ends_alone.push_back(&row);
    } else {
      rows.emplace_back(row);
    }
  }
  std::vector<ExecutionRows> all = ExecutionsByIds(rows);
  JoinWithoutIds(all);
  JoinEnds(ends_alone, all);
  std::vector<NeuronExecution> executions;
  executions.reserve(all.size());
  for (const ExecutionRows& of : all) executions.push_back(ExecutionOf(of));
  std::stable_sort(executions.begin(), executions.end(), [](const NeuronExecution& a, const NeuronExecution& b) {
    const bool has_a = a.order_ns() != kNoValue;
    const bool has_b = b.order_ns() != kNoValue;
    return has_a != has_b ? has_a : a.order_ns() < b.order_ns();
  });
  return executions;
}

int64_t LogicalCoreSizeOf(const std::vector<NeuronExecution>& executions) {
  std::map<int64_t, int64_t> counts;
  for (const NeuronExecution& execution : executions) ++counts[execution.rows];
  int64_t size = 0;
  int64_t most = 0;
  for (const auto& [rows, count] : counts) {
    if (count < most) continue;
    most = count;
    size = rows;
  }
  return size;
}

int64_t RowsOfUnknownExecutions(const NeuronEvents& events) {
  std::map<NeuronCoreKey, std::set<int64_t>> cores;
  for (const NeuronCoreRow& row : events.core_rows) {
    std::set<int64_t>& of = cores[row.of];
    if (of.size() < 2) of.insert(row.core);
  }
  return std::count_if(events.core_rows.begin(), events.core_rows.end(), [&](const NeuronCoreRow& row) {
    const bool is_placed = row.exec_id == kNoValue ? HostSpanOf(row).is_known() || IsEndAlone(row)
                                                   : row.core != kNoValue || HostSpanOf(row).is_known();
    return !is_placed && (cores[row.of].size() > 1 || row.core == kNoValue);
  });
}

std::map<NeuronCoreKey, std::vector<Interval>> NeuronBusyOf(const NeuronEvents& events) {
  std::map<NeuronCoreKey, std::vector<Interval>> busy;
  for (const NeuronCoreRow& row : events.core_rows) {
    std::vector<Interval>& rows = busy[row.of];
    if (HasHostTimes(row)) rows.push_back({row.start_ns, row.end_ns});
  }
  for (auto& [core, rows] : busy) {
    std::sort(rows.begin(), rows.end(), [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    std::vector<Interval> merged;
    for (const Interval& row : rows) AppendInterval(row.begin_ns, row.end_ns, merged);
    rows = std::move(merged);
  }
  return busy;
}

}  // namespace kprof
