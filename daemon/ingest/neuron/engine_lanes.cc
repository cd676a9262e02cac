#include "daemon/ingest/neuron/engine_lanes.h"

#include <algorithm>
#include <span>
#include <utility>

namespace kprof {

uint32_t EngineLanes::AddGroup(std::string name, std::string process, int64_t sort_index) {
  groups_.push_back({std::move(name), std::move(process), sort_index, {}});
  return static_cast<uint32_t>(groups_.size() - 1);
}

void EngineLanes::Add(const Slice& slice) {
  waiting_.push_back(slice);
}

void EngineLanes::Give() {
  const auto is_earlier = [](const Slice& one, const Slice& other) { return one.start_ns < other.start_ns; };
  if (!std::is_sorted(waiting_.begin(), waiting_.end(), is_earlier)) {
    std::stable_sort(waiting_.begin(), waiting_.end(), is_earlier);
  }
  for (const Slice& slice : waiting_) {
    Lane& lane = LaneFor(groups_[slice.group], slice.start_ns);
    int64_t end_ns = slice.start_ns;
    if (__builtin_add_overflow(slice.start_ns, std::max<int64_t>(slice.duration_ns, 0), &end_ns)) end_ns = INT64_MAX;
    lane.end_ns = std::max(lane.end_ns, end_ns);
    builder_.AddSlice({slice.start_ns, lane.track, slice.name, slice.category, std::span(slice.arg).first(slice.args)},
                      slice.duration_ns, kNoValue);
  }
  waiting_.clear();
}

EngineLanes::Lane& EngineLanes::LaneFor(Group& group, int64_t start_ns) {
  for (Lane& lane : group.lanes) {
    if (lane.end_ns <= start_ns) return lane;
  }
  if (group.lanes.size() >= kMostLanes) {
    return *std::min_element(group.lanes.begin(), group.lanes.end(),
                             [](const Lane& one, const Lane& other) { return one.end_ns < other.end_ns; });
  }
  TrackRow row{.kind = "nc_engine", .name = group.name, .process = group.process};
  if (!group.lanes.empty()) row.name += " " + std::to_string(group.lanes.size() + 1);
  row.sort_index = group.sort_index;
  row.pid = group.process;
  row.tid = row.name;
  const TrackKey key{TrackKey::Family::kThread, builder_.Text(group.process), builder_.Text(row.name), 0, 0};
  const uint32_t track = builder_.AddTrack(key, std::move(row));
  return group.lanes.emplace_back(Lane{track, start_ns});
}

}  // namespace kprof
