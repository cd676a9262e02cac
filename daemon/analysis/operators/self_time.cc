#include "daemon/analysis/operators/self_time.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/slice_runs.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

constexpr uint32_t kNoKeyAsked = UINT32_MAX;

struct Open {
  int64_t depth = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t covered = 0;
  int64_t covered_to = 0;
  uint32_t group = kNoKeyAsked;
};

class PartSelfTimes {
 public:
  PartSelfTimes(const TracePart& part, size_t at, const SelfTimeRequest& request, PartFilter filter)
      : reader_(*part.reader), filter_(std::move(filter)), groups_(part, at, request.by, request.most_groups) {}

  Status AddUp(const StopSignal& stop) {
    int64_t last_end = INT64_MIN;
    bool has_begun = false;
    for (const SegmentCluster& cluster : ClustersOf(reader_.segments(EventKind::kSlice))) {
      RETURN_IF_ERROR(StillWanted(stop));
      bool may_match = false;
      for (const Segment& segment : cluster) {
        ASSIGN_OR_RETURN(const bool may, filter_.MayMatch(segment));
        if (!may) continue;
        may_match = true;
        last_end = std::max(last_end, segment.max_end_ns);
      }
      has_begun |= may_match;
      if (!has_begun || (!may_match && cluster.front().min_time_ns > last_end)) continue;
      RETURN_IF_ERROR(NumberRows(cluster));
      RETURN_IF_ERROR(ForEachSliceRun(reader_, cluster, stop, [this](const SliceRun& run) {
        Add(run);
        return OkStatus();
      }));
    }
    for (auto& [track, open] : open_) Close(open, INT64_MIN);
    return OkStatus();
  }

  const std::vector<SelfTime>& times() const { return times_; }
  Result<GroupKey> KeyOf(uint32_t group) { return groups_.KeyOf(group); }

 private:
  Status NumberRows(const SegmentCluster& cluster) {
    numbers_.resize(cluster.size());
    std::vector<uint32_t> of_selected;
    RowSelection selection;
    for (size_t i = 0; i < cluster.size(); ++i) {
      numbers_[i].assign(cluster[i].rows, kNoKeyAsked);
      ASSIGN_OR_RETURN(const bool may, filter_.MayMatch(cluster[i]));
      if (!may) continue;
      RETURN_IF_ERROR(filter_.Select(cluster[i], selection));
      RETURN_IF_ERROR(groups_.Number(cluster[i], selection, of_selected));
      if (selection.all) {
        numbers_[i] = of_selected;
      } else {
        for (size_t at = 0; at < of_selected.size(); ++at) numbers_[i][selection.rows[at]] = of_selected[at];
      }
    }
    times_.resize(groups_.size());
    return OkStatus();
  }

  void Add(const SliceRun& run) {
    std::vector<Open>& open = open_[run.track];
    for (size_t i = 0; i < run.size; ++i) {
      const int64_t depth = run.depths[i];
      const int64_t begin = SafeTime(run.times[i]);
      const int64_t end = SafeEndOf(begin, run.durations[i]);
      const uint32_t group = numbers_[run.SegmentOf(i)][run.RowOf(i)];
      const Open slice{depth, begin, end, 0, begin, group};
      if (depth < 0) {
        if (IsKnown(run.durations[i])) Count(slice);
        continue;
      }
      Close(open, depth);
      if (!IsKnown(run.durations[i])) continue;
      if (!open.empty() && open.back().depth == depth - 1) {
        Open& parent = open.back();
        const int64_t from = std::max(begin, parent.covered_to);
        const int64_t to = std::min(end, parent.end);
        if (to > from) {
          parent.covered += to - from;
          parent.covered_to = to;
        }
      }
      open.push_back(slice);
    }
  }

  // What comes next at that depth is beside those, or beside one that they are in.
  void Close(std::vector<Open>& open, int64_t depth) {
    for (; !open.empty() && open.back().depth >= depth; open.pop_back()) Count(open.back());
  }

  void Count(const Open& slice) {
    if (slice.group == kNoKeyAsked) return;
    SelfTime& time = times_[slice.group];
    ++time.count;
    time.sum_ns = SaturatingSum(time.sum_ns, slice.end - slice.begin);
    time.self_ns = SaturatingSum(time.self_ns, slice.end - slice.begin - slice.covered);
  }

  PartReader& reader_;
  const PartFilter filter_;
  RowGroups groups_;
  std::vector<std::vector<uint32_t>> numbers_;  // of the rows of each segment of the cluster
  std::unordered_map<uint32_t, std::vector<Open>> open_;
  std::vector<SelfTime> times_;
};

}  // namespace

Result<std::vector<SelfTime>> FindSelfTimes(TraceParts parts, const SelfTimeRequest& request, const StopSignal& stop) {
  constexpr int64_t kGroupBytes = sizeof(SelfTime) + 64;  // and of its place in a map
  MemoryCharge memory(request.take_memory);
  std::map<GroupKey, SelfTime> all;
  for (size_t at = 0; at < parts.size(); ++at) {
    ASSIGN_OR_RETURN(PartFilter filter, PartFilter::Bind(request.filter, parts[at], EventKind::kSlice));
    PartSelfTimes part(parts[at], at, request, std::move(filter));
    RETURN_IF_ERROR(part.AddUp(stop));
    for (uint32_t group = 0; group < part.times().size(); ++group) {
      const SelfTime& time = part.times()[group];
      if (time.count == 0) continue;
      ASSIGN_OR_RETURN(GroupKey key, part.KeyOf(group));
      const int64_t bytes = SizeOfKey(key);
      const auto [place, is_new] = all.try_emplace(std::move(key));
      if (is_new) RETURN_IF_ERROR(memory.Grow(bytes + kGroupBytes));
      SelfTime& to = place->second;
      to.count += time.count;
      to.sum_ns = SaturatingSum(to.sum_ns, time.sum_ns);
      to.self_ns = SaturatingSum(to.self_ns, time.self_ns);
    }
  }
  std::vector<SelfTime> found;
  while (!all.empty()) {
    auto group = all.extract(all.begin());
    group.mapped().key = std::move(group.key());
    found.push_back(std::move(group.mapped()));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const SelfTime& a, const SelfTime& b) { return a.self_ns > b.self_ns; });
  if (found.size() > request.top) found.resize(request.top);
  return found;
}

}  // namespace kprof
