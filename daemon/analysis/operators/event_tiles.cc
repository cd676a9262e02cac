#include "daemon/analysis/operators/event_tiles.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace/levels/detail_levels.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

// The rows of a segment that last beyond the time at which its last row begins, in order: they may reach into later
// segments. They are few, as the slices that are open at one time are few. So the slices that reach into a narrow
// window are found without a pass over all that was before it. REQUIRES: the kind has durations.
//
// On the reader's thread. Costs a pass over times and durations once, then it is kept in the reader's cache.
Result<DecodedColumn> ReadOutlasting(PartReader& reader, const Segment& segment) {
  return reader.ReadDerived(segment, kOutlastingColumn, [&]() -> Result<std::vector<int64_t>> {
    ASSIGN_OR_RETURN(const DecodedColumn times, reader.ReadOnce(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn durations, reader.ReadOnce(segment, EventColumn::kDuration));
    std::vector<int64_t> rows;
    for (uint32_t row = 0; row < segment.rows; ++row) {
      if (SafeEndOf(SafeTime((*times)[row]), (*durations)[row]) > segment.max_time_ns) rows.push_back(row);
    }
    return rows;
  });
}

constexpr int kMostEventPixels = 65'536;
constexpr int64_t kMostDepth = 4'096;
constexpr size_t kMostLanes = size_t{4} << 20;  // and depths without any between them
constexpr uint32_t kNoLane = UINT32_MAX;

// What is drawn: events, and the rows of their levels of detail.
struct Kinds {
  EventKind events;
  EventKind summaries;
};
constexpr Kinds kSlices = {EventKind::kSlice, EventKind::kSummary};
constexpr Kinds kInstants = {EventKind::kInstant, EventKind::kInstantSummary};

struct Rows {
  const int64_t* times = nullptr;
  const int64_t* durations = nullptr;  // null: of instants, which have none
  const int64_t* depths = nullptr;     // null: of instants, here and below
  const int64_t* names = nullptr;
  const int64_t* counts = nullptr;  // null: of events, not of a level
  const int64_t* busy = nullptr;
  std::vector<DecodedColumn> held;

  int64_t EndOfRow(uint32_t row) const {
    return SafeEndOf(SafeTime(times[row]), durations == nullptr ? 0 : durations[row]);
  }
  int64_t DepthOfRow(uint32_t row) const {
    return depths == nullptr ? 0 : std::clamp<int64_t>(depths[row], 0, kMostDepth);
  }
  // REQUIRES: of a level.
  int64_t BusyOfRow(uint32_t row) const { return busy == nullptr ? 0 : std::max<int64_t>(busy[row], 0); }
};

// Boxes of one track and depth.
struct Lane {
  std::vector<TileBox> boxes;
  std::vector<int64_t> longest;  // of each box: the most that one of what it is made of fills
  size_t narrow = SIZE_MAX;      // the last that is made of what is narrower than a pixel
  int64_t pixel_begin = 0;       // of that one
  int64_t pixel_end = 0;
  std::unordered_map<int64_t, size_t> narrow_of_pixels;  // of instants: by the pixel's begin

  bool IsOfPixel(int64_t time) const { return narrow != SIZE_MAX && time >= pixel_begin && time < pixel_end; }
};

class Tiles {
 public:
  Tiles(PartReader& reader, const Kinds& kinds, const Viewport& viewport, const TileLimits& limits)
      : reader_(reader),
        kinds_(kinds),
        limits_(limits),
        from_(std::max(viewport.from_ns, kFirstTimeNs)),
        to_(std::min(viewport.to_ns, kLastTimeNs)),
        wanted_(reader.tracks().size(), viewport.tracks.empty() ? 1 : 0),
        lanes_of_tracks_(reader.tracks().size()) {
    for (const uint32_t track : viewport.tracks) {
      if (track < wanted_.size()) wanted_[track] = 1;
    }
    const int64_t length = to_ - from_;
    tiles_.pixel_ns = length / viewport.pixels + (length % viewport.pixels != 0 ? 1 : 0);
  }

  Status Make(const StopSignal& stop) {
    ASSIGN_OR_RETURN(const std::vector<const Segment*> segments, ChooseSegments());
    for (const Segment* segment : segments) {
      if (segment->min_time_ns >= to_) continue;
      if (segment->max_time_ns < from_ && IsOver(segment->max_end_ns)) continue;
      RETURN_IF_ERROR(StillWanted(stop));
      if (segment->max_time_ns < from_) {
        RETURN_IF_ERROR(AddBefore(*segment));
      } else {
        RETURN_IF_ERROR(AddWithin(*segment));
      }
    }
    return OkStatus();
  }

  EventTiles Take() {
    for (size_t track = 0; track < lanes_of_tracks_.size(); ++track) {
      for (const uint32_t lane : lanes_of_tracks_[track]) {
        if (lane != kNoLane) TakeLane(lanes_[lane]);
      }
    }
    return std::move(tiles_);
  }

 private:
  // Those of the coarsest level that is fine enough; else of events.
  Result<std::vector<const Segment*>> ChooseSegments() {
    int64_t coarsest = 0;
    while (coarsest < kCoarsestLevel && (int64_t{1} << (2 * (coarsest + 1))) <= tiles_.pixel_ns) {
      ++coarsest;
    }
    std::vector<const Segment*> chosen;
    int64_t level = 0;
    for (const Segment& segment : reader_.segments(kinds_.summaries)) {
      ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_.ReadBounds(segment, EventColumn::kLevel));
      if (!bounds || bounds->min != bounds->max || bounds->min < 1 || bounds->min > coarsest) continue;
      if (bounds->min < level) continue;
      if (bounds->min > level) chosen.clear();
      level = bounds->min;
      chosen.push_back(&segment);
    }
    tiles_.level = static_cast<int>(level);
    if (level > 0) return chosen;
    for (const Segment& segment : reader_.segments(kinds_.events)) chosen.push_back(&segment);
    return chosen;
  }

  Result<Rows> ReadRows(const Segment& segment) {
    Rows rows;
    const auto read = [&](EventColumn column, const int64_t*& to) -> Status {
      ASSIGN_OR_RETURN(DecodedColumn values, reader_.Read(segment, column));
      to = values->data();
      rows.held.push_back(std::move(values));
      return OkStatus();
    };
    RETURN_IF_ERROR(read(EventColumn::kTime, rows.times));
    RETURN_IF_ERROR(read(EventColumn::kName, rows.names));
    const bool is_of_level = segment.kind == kinds_.summaries;
    if (is_of_level) RETURN_IF_ERROR(read(EventColumn::kCount, rows.counts));
    if (is_of_level || segment.kind == EventKind::kSlice) {
      RETURN_IF_ERROR(read(EventColumn::kDuration, rows.durations));
    }
    if (kinds_.events == EventKind::kInstant) return rows;
    RETURN_IF_ERROR(read(EventColumn::kDepth, rows.depths));
    if (is_of_level) RETURN_IF_ERROR(read(EventColumn::kBusy, rows.busy));
    return rows;
  }

  // Whether what began before the viewport ends there. The end of some instants is the time of the last of them.
  bool IsOver(int64_t end) const { return kinds_.events == EventKind::kInstant ? end < from_ : end <= from_; }

  // One whose rows all begin before the viewport.
  Status AddBefore(const Segment& segment) {
    if (segment.kind == EventKind::kInstant) return OkStatus();
    ASSIGN_OR_RETURN(const DecodedColumn outlasting, ReadOutlasting(reader_, segment));
    if (outlasting->empty()) return OkStatus();
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    ASSIGN_OR_RETURN(const Rows rows, ReadRows(segment));
    size_t run = 0;
    for (const int64_t row : *outlasting) {
      while (runs[run].end <= row) ++run;
      if (wanted_[runs[run].track] != 0) Add(segment, rows, runs[run].track, static_cast<uint32_t>(row));
    }
    return OkStatus();
  }

  Status AddWithin(const Segment& segment) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    ASSIGN_OR_RETURN(const Rows rows, ReadRows(segment));
    for (size_t i = 0; i < runs.size(); ++i) {
      const TrackRun run = runs[i];
      if (wanted_[run.track] == 0) continue;
      // In order in a part of ours. In another one, what is found is of it all the same.
      const int64_t* times = rows.times;
      const auto within = static_cast<uint32_t>(std::lower_bound(times + run.first, times + run.end, from_) - times);
      const auto end = static_cast<uint32_t>(std::lower_bound(times + within, times + run.end, to_) - times);
      for (uint32_t row = run.first; row < within; ++row) {
        if (!IsOver(rows.EndOfRow(row))) Add(segment, rows, run.track, row);
      }
      for (uint32_t row = within; row < end; ++row) Add(segment, rows, run.track, row);
    }
    return OkStatus();
  }

  // Most are rows that join a pixel of their lane, or are not seen at all: those are looked at first, as they are many.
  void Add(const Segment& segment, const Rows& rows, uint32_t track, uint32_t row) {
    const int64_t begin = SafeTime(rows.times[row]);
    const int64_t end = rows.EndOfRow(row);
    if (begin >= to_ || (begin < from_ && IsOver(end))) return;
    const bool is_event = rows.counts == nullptr;
    const int64_t depth = rows.DepthOfRow(row);
    const uint32_t number = LaneOf(track, static_cast<size_t>(depth));
    if (number == kNoLane) {
      tiles_.is_complete = false;
      return;
    }
    Lane& lane = lanes_[number];
    TileBox box{.track = track, .depth = depth, .begin_ns = begin, .end_ns = end, .name = rows.names[row]};
    box.count = is_event ? 1 : std::max<int64_t>(rows.counts[row], 1);
    box.busy_ns = is_event ? end - begin : rows.BusyOfRow(row);
    const bool is_narrow = end - begin < tiles_.pixel_ns;
    if (is_narrow && lane.IsOfPixel(std::max(begin, from_))) return Merge(lane, box);
    if (is_narrow && kinds_.events == EventKind::kInstant && GoTo(lane, std::max(begin, from_)))
      return Merge(lane, box);
    if (is_event) box.row = segment.first_row + row;
    AddTo(lane, box);
  }

  uint32_t LaneOf(uint32_t track, size_t depth) {
    std::vector<uint32_t>& lanes = lanes_of_tracks_[track];
    if (depth >= lanes.size()) {
      const size_t more = depth + 1 - lanes.size();
      if (lane_places_ + more > kMostLanes) return kNoLane;
      lane_places_ += more;
      lanes.resize(depth + 1, kNoLane);
    }
    if (lanes[depth] == kNoLane) {
      lanes[depth] = static_cast<uint32_t>(lanes_.size());
      lanes_.emplace_back();
    }
    return lanes[depth];
  }

  void AddTo(Lane& lane, const TileBox& box) {
    if (boxes_ == limits_.most_boxes) {
      tiles_.is_complete = false;
      return;
    }
    ++boxes_;
    if (box.end_ns - box.begin_ns < tiles_.pixel_ns) {
      SetPixel(lane, lane.boxes.size(), PixelOf(std::max(box.begin_ns, from_)));
      if (kinds_.events == EventKind::kInstant) lane.narrow_of_pixels.emplace(lane.pixel_begin, lane.narrow);
    }
    lane.boxes.push_back(box);
    lane.longest.push_back(box.busy_ns);
  }

  int64_t PixelOf(int64_t time) const { return time - (time - from_) % tiles_.pixel_ns; }

  void SetPixel(Lane& lane, size_t box, int64_t pixel_begin) const {
    lane.narrow = box;
    lane.pixel_begin = pixel_begin;
    lane.pixel_end = pixel_begin + tiles_.pixel_ns;
  }

  // Back to the box of that time's pixel, where there is one: segments of a source without order overlap. Not of
  // slices, as how much of a box they fill is only known in their order.
  bool GoTo(Lane& lane, int64_t time) const {
    const auto found = lane.narrow_of_pixels.find(PixelOf(time));
    if (found == lane.narrow_of_pixels.end()) return false;
    SetPixel(lane, found->second, found->first);
    return true;
  }

  // Slices of one depth may cross, and fill what they share once. They come in the order of their begins, so what is
  // filled already reaches from the box's begin to its end at most; where a source had another order, what lies between
  // those is not looked at again.
  static void Merge(Lane& lane, const TileBox& box) {
    TileBox& to = lane.boxes[lane.narrow];
    int64_t& longest = lane.longest[lane.narrow];
    if (box.busy_ns > longest || (box.busy_ns == longest && box.begin_ns < to.begin_ns)) to.name = box.name;
    longest = std::max(longest, box.busy_ns);
    const int64_t beyond_ns = std::max<int64_t>(0, to.begin_ns - box.begin_ns) +
                              std::max<int64_t>(0, box.end_ns - std::max(to.end_ns, box.begin_ns));
    to.begin_ns = std::min(to.begin_ns, box.begin_ns);
    to.end_ns = std::max(to.end_ns, box.end_ns);
    to.count = SaturatingSum(to.count, box.count);
    to.busy_ns = SaturatingSum(to.busy_ns, std::min(box.busy_ns, beyond_ns));
    to.row = kNoValue;
  }

  void TakeLane(Lane& lane) {
    const auto is_before = [](const TileBox& a, const TileBox& b) {
      return std::tie(a.begin_ns, a.end_ns) < std::tie(b.begin_ns, b.end_ns);
    };
    if (!std::is_sorted(lane.boxes.begin(), lane.boxes.end(), is_before)) {
      std::stable_sort(lane.boxes.begin(), lane.boxes.end(), is_before);
    }
    for (TileBox& box : lane.boxes) {
      box.busy_ns = std::min(box.busy_ns, box.end_ns - box.begin_ns);
      tiles_.boxes.push_back(box);
    }
    lane = {};
  }

  PartReader& reader_;
  const Kinds kinds_;
  const TileLimits limits_;
  const int64_t from_;
  const int64_t to_;
  std::vector<uint8_t> wanted_;  // by track
  std::vector<std::vector<uint32_t>> lanes_of_tracks_;
  std::vector<Lane> lanes_;
  size_t lane_places_ = 0;
  size_t boxes_ = 0;
  EventTiles tiles_;
};

Result<EventTiles> MakeTiles(PartReader& reader, const Kinds& kinds, const Viewport& viewport, const StopSignal& stop,
                             const TileLimits& limits) {
  if (viewport.pixels < 1 || viewport.pixels > kMostEventPixels || viewport.from_ns >= viewport.to_ns ||
      viewport.to_ns <= kFirstTimeNs || viewport.from_ns >= kLastTimeNs) {
    return Fail(ErrorCode::kUsage, "draw trace part " + reader.path(), "there is no such viewport",
                "ask for a time that begins before it ends, and 1 to 65,536 pixels");
  }
  Tiles tiles(reader, kinds, viewport, limits);
  RETURN_IF_ERROR(tiles.Make(stop));
  return tiles.Take();
}

}  // namespace

Result<EventTiles> MakeSliceTiles(PartReader& reader, const Viewport& viewport, const StopSignal& stop,
                                  const TileLimits& limits) {
  return MakeTiles(reader, kSlices, viewport, stop, limits);
}

Result<EventTiles> MakeInstantTiles(PartReader& reader, const Viewport& viewport, const StopSignal& stop,
                                    const TileLimits& limits) {
  return MakeTiles(reader, kInstants, viewport, stop, limits);
}

}  // namespace kprof
