#include "daemon/analysis/operators/aggregate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/percentiles.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

// The row of the first slice that they are of, and how many slices that are.
Result<std::vector<int64_t>> FindRows(PartReader& reader, const Segment& totals) {
  ASSIGN_OR_RETURN(const DecodedColumn firsts, reader.ReadOnce(totals, EventColumn::kSlice));
  ASSIGN_OR_RETURN(const DecodedColumn counts, reader.ReadOnce(totals, EventColumn::kCount));
  const int64_t most = reader.rows(EventKind::kSlice);
  int64_t rows = 0;
  for (size_t i = 0; i < counts->size(); ++i) {
    const int64_t count = (*counts)[i];
    if ((*firsts)[i] != firsts->front() || count < 1 || count > most - rows) {
      return reader.Broken("segment " + std::to_string(totals.id) + " has totals of more slices than there are");
    }
    rows += count;
  }
  return std::vector<int64_t>{firsts->front(), rows};
}

// From the segment that begins with a row to the one that ends with another; nothing where there are none.
bool FindSegments(std::span<const Segment> slices, int64_t first_row, int64_t rows, SlicesWithTotals& stretch) {
  const auto before = [](const Segment& segment, int64_t row) { return segment.first_row < row; };
  const auto first = std::lower_bound(slices.begin(), slices.end(), first_row, before);
  const auto end = std::lower_bound(first, slices.end(), first_row + rows, before);
  if (first == end || first->first_row != first_row) return false;
  stretch.first = static_cast<size_t>(first - slices.begin());
  stretch.end = static_cast<size_t>(end - slices.begin());
  int64_t min_time = first->min_time_ns;
  int64_t max_time = first->max_time_ns;
  int64_t max_end = first->max_end_ns;
  for (auto at = first; at != end; ++at) {
    min_time = std::min(min_time, at->min_time_ns);
    max_time = std::max(max_time, at->max_time_ns);
    max_end = std::max(max_end, at->max_end_ns);
  }
  const Segment& last = slices[stretch.end - 1];
  return last.first_row + int64_t{last.rows} == first_row + rows && stretch.totals->min_time_ns == min_time &&
         stretch.totals->max_time_ns == max_time && stretch.totals->max_end_ns == max_end;
}

}  // namespace

Result<std::vector<SlicesWithTotals>> FindSlicesWithTotals(PartReader& reader) {
  std::vector<SlicesWithTotals> stretches;
  for (const Segment& totals : reader.segments(EventKind::kTotal)) {
    ASSIGN_OR_RETURN(const DecodedColumn rows,
                     reader.ReadDerived(totals, kTotalRowsColumn, [&] { return FindRows(reader, totals); }));
    SlicesWithTotals stretch{&totals, 0, 0};
    const int64_t first_row = (*rows)[0];
    if (first_row < 0 || first_row > reader.rows(EventKind::kSlice) - (*rows)[1] ||
        !FindSegments(reader.segments(EventKind::kSlice), first_row, (*rows)[1], stretch)) {
      return reader.Broken("segment " + std::to_string(totals.id) + " has totals that are not of whole segments");
    }
    stretches.push_back(stretch);
  }
  std::sort(stretches.begin(), stretches.end(),
            [](const SlicesWithTotals& a, const SlicesWithTotals& b) { return a.first < b.first; });
  for (size_t i = 1; i < stretches.size(); ++i) {
    if (stretches[i].first >= stretches[i - 1].end) continue;
    return reader.Broken("segments " + std::to_string(stretches[i - 1].totals->id) + " and " +
                         std::to_string(stretches[i].totals->id) + " have totals of the same slices");
  }
  return stretches;
}

namespace {

constexpr uint32_t kNotAsked = UINT32_MAX;
constexpr int64_t kGroupBytes = sizeof(Aggregate) + 64;  // and of its place in a map

struct Totals {
  int64_t count = 0;
  int64_t ended = 0;
  int64_t sum = 0;
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = 0;
};

// Totals of some slices each, by their columns.
struct TotalRows {
  std::vector<int64_t> counts;
  std::vector<int64_t> ended;
  std::vector<int64_t> busy;
  std::vector<int64_t> least;
  std::vector<int64_t> most;

  // Whether slices can have it.
  bool IsPossible(size_t row) const {
    return ended[row] >= 0 && ended[row] <= counts[row] && busy[row] >= 0 && least[row] >= 0 && most[row] >= least[row];
  }
};

// What a part has, by its own groups.
struct PartTotals {
  PartFilter filter;
  RowGroups groups;
  std::vector<Totals> totals;
  std::vector<uint32_t> results;  // of each group: which of those of all parts it is
  int64_t counted_bytes = 0;      // of its groups
};

// Rows one after the other are mostly of one group; adding up in one place would have each wait for the one before.
void Count(std::span<const uint32_t> groups, std::vector<Totals>& totals) {
  for (size_t first = 0; first < groups.size();) {
    size_t end = first + 1;
    while (end < groups.size() && groups[end] == groups[first]) ++end;
    totals[groups[first]].count += static_cast<int64_t>(end - first);
    first = end;
  }
}

void Add(std::span<const uint32_t> groups, std::span<const int64_t> durations, std::vector<Totals>& totals) {
  for (size_t i = 0; i < groups.size(); ++i) {
    Totals& to = totals[groups[i]];
    const int64_t duration = durations[i];
    ++to.count;
    if (!IsKnown(duration)) continue;
    ++to.ended;
    to.sum = SaturatingSum(to.sum, duration);
    to.min = std::min(to.min, duration);
    to.max = std::max(to.max, duration);
  }
}

// The durations of rows selected; kNoValue for all where the kind has none.
Status GatherDurations(PartReader& reader, const Segment& segment, const RowSelection& selection,
                       std::vector<int64_t>& durations) {
  durations.resize(selection.all ? segment.rows : selection.rows.size());
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kDuration));
  if (!bounds) {
    std::fill(durations.begin(), durations.end(), kNoValue);
    return OkStatus();
  }
  return GatherValues(reader, segment, EventColumn::kDuration, selection, durations);
}

class Question {
 public:
  Question(TraceParts parts, const AggregateRequest& request, const StopSignal& stop)
      : parts_(parts), request_(request), stop_(stop), memory_(request.take_memory) {}

  Status AddUp() {
    for (size_t at = 0; at < parts_.size(); ++at) {
      ASSIGN_OR_RETURN(PartFilter filter, PartFilter::Bind(request_.filter, parts_[at], request_.kind));
      of_parts_.push_back(std::make_unique<PartTotals>(
          PartTotals{std::move(filter), RowGroups(parts_[at], at, request_.by, request_.most_groups), {}, {}, 0}));
      RETURN_IF_ERROR(AddUp(*parts_[at].reader, *of_parts_.back()));
    }
    return Merge();
  }

  Status AddPercentiles() {
    std::vector<ValueCount> counts;
    for (const Aggregate& result : results_) counts.push_back({result.ended, result.min_ns, result.max_ns});
    const ForEachValue for_each = [this](const SeeValues& see) { return SeeAll(see); };
    ASSIGN_OR_RETURN(auto percentiles, ExactPercentiles(counts, request_.percentiles, for_each, request_.most_values));
    for (size_t i = 0; i < results_.size(); ++i) results_[i].percentiles_ns = std::move(percentiles[i]);
    return OkStatus();
  }

  // The first of them in their order.
  void Order() {
    std::vector<uint32_t> order(results_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<double> measures;
    for (const Aggregate& result : results_) measures.push_back(MeasureOf(result));
    const size_t kept = std::min(request_.top, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(),
                      [&](uint32_t a, uint32_t b) {
                        if (measures[a] != measures[b]) return measures[a] > measures[b];
                        return results_[a].key < results_[b].key;
                      });
    std::vector<uint32_t> places(results_.size(), kNotAsked);
    std::vector<Aggregate> ordered;
    for (size_t i = 0; i < kept; ++i) {
      places[order[i]] = static_cast<uint32_t>(i);
      ordered.push_back(std::move(results_[order[i]]));
    }
    results_ = std::move(ordered);
    for (const auto& part : of_parts_) {
      for (uint32_t& result : part->results) {
        if (result != kNotAsked) result = places[result];
      }
    }
  }

  std::vector<Aggregate> TakeResults() { return std::move(results_); }

 private:
  Status AddUp(PartReader& reader, PartTotals& part) {
    if (part.filter.never()) return OkStatus();
    std::vector<SlicesWithTotals> stretches;
    if (part.filter.TakesTotals()) {
      ASSIGN_OR_RETURN(stretches, FindSlicesWithTotals(reader));
    }
    const std::span<const Segment> segments = reader.segments(request_.kind);
    const auto see_slices = [&](const Segment& segment, const RowSelection& selection) {
      return AddSegment(reader, segment, selection, part);
    };
    const auto see_totals = [&](const Segment& totals, const RowSelection& selection) {
      return AddTotals(reader, totals, selection, part);
    };
    RowSelection selection;
    auto stretch = stretches.begin();
    for (size_t next = 0; next < segments.size();) {
      RETURN_IF_ERROR(StillWanted(stop_));
      while (stretch != stretches.end() && stretch->first < next) ++stretch;
      if (stretch != stretches.end() && stretch->first == next && part.filter.HasTimesOf(*stretch->totals)) {
        RETURN_IF_ERROR(part.filter.ForOne(*stretch->totals, selection, see_totals));
        next = stretch->end;
        continue;
      }
      RETURN_IF_ERROR(part.filter.ForOne(segments[next++], selection, see_slices));
    }
    return OkStatus();
  }

  Status AddSegment(PartReader& reader, const Segment& segment, const RowSelection& selection, PartTotals& part) {
    const auto count = [&](uint32_t group, int64_t rows) {
      if (part.totals.size() <= group) part.totals.resize(part.groups.size());
      part.totals[group].count += rows;
    };
    if (!request_.durations && selection.all) {
      ASSIGN_OR_RETURN(const bool is_known, part.groups.CountWhole(segment, count));
      if (is_known) return OkStatus();
    }
    RETURN_IF_ERROR(Number(segment, selection, part));
    if (!request_.durations) {
      Count(groups_, part.totals);
      return OkStatus();
    }
    RETURN_IF_ERROR(GatherDurations(reader, segment, selection, durations_));
    Add(groups_, durations_, part.totals);
    return OkStatus();
  }

  Status Number(const Segment& segment, const RowSelection& selection, PartTotals& part) {
    RETURN_IF_ERROR(part.groups.Number(segment, selection, groups_));
    const int64_t bytes = part.groups.size_bytes() + static_cast<int64_t>(part.groups.size() * sizeof(Totals));
    RETURN_IF_ERROR(memory_.Grow(bytes - std::exchange(part.counted_bytes, bytes)));
    part.totals.resize(part.groups.size());
    return OkStatus();
  }

  Status AddTotals(PartReader& reader, const Segment& segment, const RowSelection& selection, PartTotals& part) {
    RETURN_IF_ERROR(Number(segment, selection, part));
    TotalRows rows;
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kCount, selection, rows.counts));
    if (request_.durations) {
      RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kEnded, selection, rows.ended));
      RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kBusy, selection, rows.busy));
      RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kLeast, selection, rows.least));
      RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kMost, selection, rows.most));
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      Totals& to = part.totals[groups_[i]];
      to.count += rows.counts[i];  // checked: all of them are no more than the part has slices
      if (!request_.durations) continue;
      if (!rows.IsPossible(i)) {
        return reader.Broken("segment " + std::to_string(segment.id) + " has a total that is none of slices");
      }
      if (rows.ended[i] == 0) continue;
      to.ended += rows.ended[i];
      to.sum = SaturatingSum(to.sum, rows.busy[i]);
      to.min = std::min(to.min, rows.least[i]);
      to.max = std::max(to.max, rows.most[i]);
    }
    return OkStatus();
  }

  Status Merge() {
    std::map<GroupKey, uint32_t> numbers;
    if (request_.by.empty()) {
      numbers.emplace(GroupKey(), 0);
      results_.emplace_back();
    }
    for (const auto& part : of_parts_) {
      part->results.assign(part->totals.size(), kNotAsked);
      for (uint32_t group = 0; group < part->totals.size(); ++group) {
        const Totals& totals = part->totals[group];
        if (totals.count == 0) continue;
        ASSIGN_OR_RETURN(GroupKey key, part->groups.KeyOf(group));
        const int64_t bytes = SizeOfKey(key);
        const auto [found, is_new] = numbers.try_emplace(std::move(key), static_cast<uint32_t>(results_.size()));
        if (is_new) {
          RETURN_IF_ERROR(memory_.Grow(bytes + kGroupBytes));
          results_.emplace_back();
        }
        if (results_.size() > request_.most_groups) {
          return Fail(ErrorCode::kUsage, "group events of a trace",
                      "there are more than " + std::to_string(request_.most_groups) + " groups",
                      "ask for fewer events or keys");
        }
        part->results[group] = found->second;
        Aggregate& to = results_[found->second];
        if (totals.ended > 0) {
          to.min_ns = to.ended == 0 ? totals.min : std::min(to.min_ns, totals.min);
          to.max_ns = std::max(to.max_ns, totals.max);
        }
        to.count += totals.count;
        to.ended += totals.ended;
        to.sum_ns = SaturatingSum(to.sum_ns, totals.sum);
      }
    }
    while (!numbers.empty()) {
      auto group = numbers.extract(numbers.begin());
      results_[group.mapped()].key = std::move(group.key());
    }
    return OkStatus();
  }

  // Durations by the numbers of results; of groups that are not among them, none.
  Status SeeAll(const SeeValues& see) {
    for (size_t at = 0; at < parts_.size(); ++at) {
      PartTotals& part = *of_parts_[at];
      RETURN_IF_ERROR(part.filter.ForEach(stop_, [&](const Segment& segment, const RowSelection& selection) -> Status {
        RETURN_IF_ERROR(part.groups.Number(segment, selection, groups_));
        RETURN_IF_ERROR(GatherDurations(*parts_[at].reader, segment, selection, durations_));
        for (size_t i = 0; i < groups_.size(); ++i) {
          const uint32_t result = groups_[i] < part.results.size() ? part.results[groups_[i]] : kNotAsked;
          groups_[i] = result == kNotAsked ? 0 : result;
          if (result == kNotAsked) durations_[i] = kNoValue;
        }
        see(groups_, durations_);
        return OkStatus();
      }));
    }
    return OkStatus();
  }

  double MeasureOf(const Aggregate& result) const {
    switch (request_.order) {
      case Measure::kCount:
        return static_cast<double>(result.count);
      case Measure::kSum:
        return static_cast<double>(result.sum_ns);
      case Measure::kMin:
        return static_cast<double>(result.min_ns);
      case Measure::kMax:
        return static_cast<double>(result.max_ns);
      case Measure::kMean:
        return result.mean_ns();
      case Measure::kPercentile:
        break;
    }
    return request_.order_percentile < result.percentiles_ns.size()
               ? static_cast<double>(result.percentiles_ns[request_.order_percentile])
               : 0;
  }

  const TraceParts parts_;
  const AggregateRequest& request_;
  const StopSignal& stop_;
  MemoryCharge memory_;
  std::vector<std::unique_ptr<PartTotals>> of_parts_;
  std::vector<Aggregate> results_;
  std::vector<uint32_t> groups_;
  std::vector<int64_t> durations_;
};

}  // namespace

Result<std::vector<Aggregate>> AggregateEvents(TraceParts parts, const AggregateRequest& request,
                                               const StopSignal& stop) {
  Question question(parts, request, stop);
  RETURN_IF_ERROR(question.AddUp());
  // Where the order does not need them, percentiles are made of what is left.
  const bool ordered_by_percentile = request.order == Measure::kPercentile;
  if (!ordered_by_percentile) question.Order();
  if (!request.percentiles.empty() && request.durations) RETURN_IF_ERROR(question.AddPercentiles());
  if (ordered_by_percentile) question.Order();
  return question.TakeResults();
}

}  // namespace kprof
