#include "daemon/analysis/operators/busy_time.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {
namespace {

// Which group each track is of, and what groups there are.
struct Groups {
  std::vector<uint32_t> of_tracks;
  std::vector<BusyGroup> groups;
};

Groups GroupsOf(const TracePart& part, size_t at, BusyBy by) {
  Groups made;
  std::map<std::tuple<std::string, std::optional<int64_t>, std::optional<int64_t>>, uint32_t> seen;
  for (const TrackRow& track : part.reader->tracks()) {
    BusyGroup group{.part = at, .rank = part.rank};
    if (by == BusyBy::kTrackKind || by == BusyBy::kTrack) group.track_kind = track.kind;
    if (by == BusyBy::kDevice || by == BusyBy::kStream || by == BusyBy::kTrack) group.device = track.device;
    if (by == BusyBy::kStream || by == BusyBy::kTrack) group.stream = track.stream;
    if (by == BusyBy::kTrack) {
      group.track = track.id;
      made.of_tracks.push_back(static_cast<uint32_t>(made.groups.size()));
      made.groups.push_back(std::move(group));
      continue;
    }
    const auto [found, is_new] =
        seen.try_emplace({group.track_kind, group.device, group.stream}, static_cast<uint32_t>(made.groups.size()));
    made.of_tracks.push_back(found->second);
    if (is_new) made.groups.push_back(std::move(group));
  }
  return made;
}

// Gaps as they are found; of them the longest.
class Gaps {
 public:
  explicit Gaps(size_t most) : most_(most) {}

  void Add(const Interval& gap) {
    if (most_ == 0) return;
    longest_.push_back(gap);
    if (longest_.size() >= 2 * most_) Trim();
  }

  std::vector<Interval> Take() {
    Trim();
    std::sort(longest_.begin(), longest_.end(),
              [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    return std::move(longest_);
  }

 private:
  void Trim() {
    if (longest_.size() <= most_) return;
    std::nth_element(longest_.begin(), longest_.begin() + static_cast<ptrdiff_t>(most_), longest_.end(),
                     [](const Interval& a, const Interval& b) {
                       return std::pair(b.end_ns - b.begin_ns, a.begin_ns) <
                              std::pair(a.end_ns - a.begin_ns, b.begin_ns);
                     });
    longest_.resize(most_);
  }

  size_t most_;
  std::vector<Interval> longest_;
};

}  // namespace

Result<std::vector<BusyTime>> FindBusyTimes(TraceParts parts, const BusyRequest& request, const StopSignal& stop) {
  std::vector<BusyTime> found;
  for (size_t at = 0; at < parts.size(); ++at) {
    Groups groups = GroupsOf(parts[at], at, request.by);
    std::vector<BusyTime> times(groups.groups.size());
    std::vector<Gaps> gaps(times.size(), Gaps(request.most_gaps));
    const auto see = [&](uint32_t group, std::span<const std::vector<Interval>> pieces,
                         std::span<const int64_t> slices) {
      BusyTime& time = times[group];
      time.slices += slices[0];
      for (const Interval& piece : pieces[0]) {
        if (time.busy_ns == 0) {
          time.first_ns = piece.begin_ns;
        } else if (piece.begin_ns > time.last_ns) {
          ++time.gaps;
          gaps[group].Add({time.last_ns, piece.begin_ns});
        }
        time.busy_ns += piece.end_ns - piece.begin_ns;
        time.last_ns = piece.end_ns;
      }
    };
    RETURN_IF_ERROR(SweepSlices(parts[at], std::span(&request.filter, 1), groups.of_tracks, stop, see));
    for (size_t group = 0; group < times.size(); ++group) {
      if (times[group].slices == 0) continue;
      times[group].group = std::move(groups.groups[group]);
      times[group].longest_gaps = gaps[group].Take();
      found.push_back(std::move(times[group]));
    }
  }
  return found;
}

Result<std::vector<OverlapTime>> FindOverlaps(TraceParts parts, const OverlapRequest& request, const StopSignal& stop) {
  std::vector<OverlapTime> found;
  const EventFilter filters[] = {request.one, request.other};
  for (size_t at = 0; at < parts.size(); ++at) {
    Groups groups = GroupsOf(parts[at], at, request.by);
    std::vector<OverlapTime> times(groups.groups.size());
    std::vector<int64_t> all_slices(times.size());
    const auto length_of = [](const std::vector<Interval>& pieces) {
      int64_t length = 0;
      for (const Interval& piece : pieces) length += piece.end_ns - piece.begin_ns;
      return length;
    };
    const auto see = [&](uint32_t group, std::span<const std::vector<Interval>> pieces,
                         std::span<const int64_t> slices) {
      all_slices[group] += slices[0] + slices[1];
      times[group].one_ns += length_of(pieces[0]);
      times[group].other_ns += length_of(pieces[1]);
      times[group].both_ns += OverlapOf(pieces[0], pieces[1]);
    };
    RETURN_IF_ERROR(SweepSlices(parts[at], filters, groups.of_tracks, stop, see));
    for (size_t group = 0; group < times.size(); ++group) {
      if (all_slices[group] == 0) continue;
      times[group].group = std::move(groups.groups[group]);
      found.push_back(std::move(times[group]));
    }
  }
  return found;
}

}  // namespace kprof
