#include "storage/trace/levels/level_choice.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "storage/trace/format/column_store.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/write/slice_nesting.h"

namespace kprof {
namespace {

constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio: neighbours lie far apart

// The last level whose 4^n ns are no more than that.
int LevelOf(uint64_t length_ns) {
  return (static_cast<int>(std::bit_width(length_ns)) - 1) / 2;
}

}  // namespace

size_t LevelCounts::HashLane::operator()(const Lane& lane) const {
  const uint64_t mixed = (static_cast<uint64_t>(lane.track) * kSpread + static_cast<uint64_t>(lane.depth)) * kSpread;
  return mixed >> 20 ^ mixed;
}

// A slice begins a row on a level where it is long, where the last one was, and where the two begin in different
// stretches; on all coarser levels it does none of them.
void LevelCounts::Add(const DetailSlice& slice) {
  const int64_t end = EndOf(slice.time_ns, slice.duration_ns);
  const uint64_t length = static_cast<uint64_t>(end) - static_cast<uint64_t>(slice.time_ns);
  const int long_to = LevelOf(length);
  const auto [last, is_first] = last_.try_emplace({slice.track, DetailLane(slice.depth)}, Last{});
  int begins_to = kCoarsestLevel;
  if (!is_first) {
    const auto apart = static_cast<uint64_t>(slice.time_ns) ^ static_cast<uint64_t>(last->second.begin);
    begins_to = std::min(std::max({LevelOf(apart), long_to, last->second.long_to}), kCoarsestLevel);
  }
  ++begun_[static_cast<size_t>(std::max(begins_to, 0))];
  last->second = {slice.time_ns, long_to};
}

LevelRows LevelCounts::rows() const {
  LevelRows rows{};
  size_t sum = 0;
  for (int level = kCoarsestLevel; level >= kFinestLevel; --level) {
    sum += begun_[static_cast<size_t>(level)];
    rows[static_cast<size_t>(level - kFinestLevel)] = sum;
  }
  return rows;
}

Result<std::vector<int64_t>> ReadRows(Db& db, const WrittenSegment& segment, EventColumn column) {
  ASSIGN_OR_RETURN(std::vector<int64_t> values, ReadColumn(db, PlaceOf(segment.id, column)));
  if (values.size() == segment.rows) return values;
  return Fail(ErrorCode::kStorageBroken, "read segment " + std::to_string(segment.id),
              "column " + std::to_string(static_cast<int>(column)) + " has " + std::to_string(values.size()) +
                  " of its " + std::to_string(segment.rows) + " rows");
}

namespace {

constexpr size_t kRowsOfStretch = 262'144;  // one is looked at for so many
constexpr size_t kLeastStretches = 4;
constexpr size_t kMostStretches = 256;
constexpr size_t kFewSamples = 131'072;        // all of them are looked at
constexpr size_t kMostRowsOfWindow = 262'144;  // what has the same time does not end otherwise
constexpr size_t kMostReadings = 4;            // of all rows, by all stretches together, about

// From the first time to the last one.
struct Window {
  int64_t first_ns = 0;
  int64_t last_ns = 0;

  bool Has(int64_t time_ns) const { return time_ns >= first_ns && time_ns <= last_ns; }
  bool Meets(const WrittenSegment& segment) const {
    return segment.min_time_ns <= last_ns && segment.max_time_ns >= first_ns;
  }
};

struct TrackRows {
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
};

size_t RowsOf(std::span<const WrittenSegment> segments) {
  size_t rows = 0;
  for (const WrittenSegment& segment : segments) rows += segment.rows;
  return rows;
}

const WrittenSegment& SegmentOf(std::span<const WrittenSegment> segments, size_t row) {
  size_t at = 0;
  while (at + 1 < segments.size() && row >= segments[at].rows) row -= segments[at++].rows;
  return segments[at];
}

// Where rows in the middle of a segment lie: a quarter of its rows or, where other segments have some of the same time,
// so much less that there are about as many of all together.
struct Middle {
  Window window;
  size_t read_rows = 0;  // of all segments that may have some of that time
};

Window Around(std::vector<int64_t>& times, size_t rows) {
  const auto nth = [&](size_t n) {
    const auto at = times.begin() + static_cast<ptrdiff_t>(n);
    std::nth_element(times.begin(), at, times.end());
    return *at;
  };
  const size_t middle = times.size() / 2;
  return {nth(middle - std::min(middle, rows)), nth(std::min(middle + rows, times.size() - 1))};
}

Result<Middle> MiddleOf(Db& db, std::span<const WrittenSegment> segments, const WrittenSegment& segment) {
  ASSIGN_OR_RETURN(std::vector<int64_t> times, ReadRows(db, segment, EventColumn::kTime));
  Middle middle{.window = Around(times, times.size() / 8)};
  size_t meet = 0;
  for (const WrittenSegment& other : segments) {
    if (!middle.window.Meets(other)) continue;
    ++meet;
    middle.read_rows += other.rows;
  }
  if (meet > 1) middle.window = Around(times, times.size() / 8 / meet);
  return middle;
}

// What lies in one window: slices track by track, as they are nested by their order; of others only how many rows they
// would have on each level, as they are read in the order in which the pass does.
struct Sample {
  std::map<int64_t, TrackRows> of_tracks;
  LevelCounts points;
  size_t rows = 0;
};

Status AddPoints(Db& db, const WrittenSegment& segment, const Window& window, std::span<const int64_t> times,
                 Sample& sample) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> tracks, ReadRows(db, segment, EventColumn::kTrack));
  for (size_t row = 0; row < times.size(); ++row) {
    if (!window.Has(times[row])) continue;
    sample.points.Add({times[row], 0, tracks[row], 0, 0});
    ++sample.rows;
  }
  return OkStatus();
}

Status AddSlices(Db& db, const WrittenSegment& segment, const Window& window, std::span<const int64_t> times,
                 Sample& sample) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> durations, ReadRows(db, segment, EventColumn::kDuration));
  ASSIGN_OR_RETURN(const std::vector<int64_t> tracks, ReadRows(db, segment, EventColumn::kTrack));
  TrackRows* of_track = nullptr;
  int64_t track = 0;
  for (size_t row = 0; row < times.size(); ++row) {
    if (!window.Has(times[row]) || durations[row] == kNoValue) continue;
    if (of_track == nullptr || tracks[row] != track) of_track = &sample.of_tracks[track = tracks[row]];
    of_track->times.push_back(times[row]);
    of_track->durations.push_back(durations[row]);
    ++sample.rows;
  }
  return OkStatus();
}

Status AddRows(Db& db, const WrittenSegment& segment, const Window& window, Sample& sample) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> times, ReadRows(db, segment, EventColumn::kTime));
  if (std::none_of(times.begin(), times.end(), [&](int64_t time) { return window.Has(time); })) return OkStatus();
  return segment.kind == EventKind::kSlice ? AddSlices(db, segment, window, times, sample)
                                           : AddPoints(db, segment, window, times, sample);
}

LevelCounts CountSlices(const std::map<int64_t, TrackRows>& of_tracks) {
  SliceNesting nesting;
  LevelCounts counts;
  for (const auto& [track, rows] : of_tracks) {
    for (const uint32_t row : OrderByTime(rows.times, rows.durations)) {
      const int64_t time = rows.times[row];
      const int64_t duration = rows.durations[row];
      counts.Add({time, duration, track, nesting.Add(time, duration, track), 0});
    }
  }
  return counts;
}

class Sampler {
 public:
  Sampler(Db& db, std::span<const WrittenSegment> segments, const std::stop_token& stop)
      : db_(db), segments_(segments), stop_(stop), all_rows_(RowsOf(segments)) {}

  Result<std::vector<int>> Choose() {
    if (all_rows_ <= kFewSamples) {
      RETURN_IF_ERROR(Look({-kMostTimeNs, kMostTimeNs}, all_rows_));
      return choice_.Choose();
    }
    ASSIGN_OR_RETURN(const std::vector<Middle> middles, FindMiddles());
    for (const Middle& middle : middles) RETURN_IF_ERROR(Look(middle.window, all_rows_ / middles.size()));
    return choice_.Choose();
  }

 private:
  // One each so many rows; fewer, and as far apart from each other, where to look at all takes too long, as segments
  // overlap.
  Result<std::vector<Middle>> FindMiddles() {
    const size_t stretches = std::clamp(all_rows_ / kRowsOfStretch, kLeastStretches, kMostStretches);
    std::vector<Middle> middles;
    size_t read_rows = 0;
    for (size_t i = 0; i < stretches; ++i) {
      RETURN_IF_ERROR(CheckStop());
      const size_t row = all_rows_ / stretches * i + all_rows_ / stretches / 2;
      ASSIGN_OR_RETURN(const Middle middle, MiddleOf(db_, segments_, SegmentOf(segments_, row)));
      read_rows += middle.read_rows;
      middles.push_back(middle);
    }
    const size_t each = std::min(read_rows / all_rows_ / kMostReadings + 1, stretches / kLeastStretches);
    std::vector<Middle> some;
    read_rows = 0;
    for (size_t i = 0; i < middles.size(); i += each) {
      const size_t more = read_rows + middles[i].read_rows;
      if (some.size() >= kLeastStretches && more > 2 * kMostReadings * all_rows_) continue;
      some.push_back(middles[i]);
      read_rows = more;
    }
    return some;
  }

  Status Look(const Window& window, size_t stands_for) {
    Sample sample;
    for (const WrittenSegment& segment : segments_) {
      if (!window.Meets(segment)) continue;
      RETURN_IF_ERROR(CheckStop());
      RETURN_IF_ERROR(AddRows(db_, segment, window, sample));
      if (sample.rows >= kMostRowsOfWindow) break;
    }
    const bool is_of_slices = segments_.front().kind == EventKind::kSlice;
    const LevelCounts counts = is_of_slices ? CountSlices(sample.of_tracks) : std::move(sample.points);
    choice_.Add({.slices = sample.rows, .rows = counts.rows(), .lanes = counts.lanes(), .stands_for = stands_for});
    return OkStatus();
  }

  Status CheckStop() const {
    if (!stop_.stop_requested()) return OkStatus();
    return Fail(ErrorCode::kCancelled, "write the trace part", "it was cancelled");
  }

  Db& db_;
  const std::span<const WrittenSegment> segments_;
  const std::stop_token& stop_;
  const size_t all_rows_;
  LevelChoice choice_;
};

}  // namespace

Result<std::vector<int>> ChooseLevels(Db& db, std::span<const WrittenSegment> segments, const std::stop_token& stop) {
  if (segments.empty()) return std::vector<int>();
  return Sampler(db, segments, stop).Choose();
}

namespace {

constexpr int kSlices = kFinestLevel - 1;  // what the first level is made of
constexpr double kFirstShrinking = 4;
constexpr double kLeastShrinking = 2;
constexpr double kMuchShrinking = 8;
constexpr double kManyRows = 131'072;  // take some milliseconds to be read

// How many there are of all that it stands for. What is seen is how many slices begin a row behind another one of their
// lane: the first one of a lane begins one in any case, and only once in a longer stretch, too.
double RowsOf(const LevelChoice::Stretch& stretch, int level) {
  const auto all = static_cast<double>(stretch.stands_for);
  const auto lanes = static_cast<double>(stretch.lanes);
  const double behind = static_cast<double>(stretch.slices) - lanes;
  if (level == kSlices || behind <= 0) return all;
  const auto rows = static_cast<double>(stretch.rows[static_cast<size_t>(level - kFinestLevel)]);
  return (rows - lanes) * (all - lanes) / behind + lanes;  // exact where all are seen
}

}  // namespace

void LevelChoice::Add(const Stretch& stretch) {
  if (stretch.slices > 0) stretches_.push_back(stretch);
}

bool LevelChoice::ShrinksAll(int level, int finer) const {
  double rows = 0;
  double of_finer = 0;
  for (const Stretch& stretch : stretches_) {
    rows += RowsOf(stretch, level);
    of_finer += RowsOf(stretch, finer);
  }
  return of_finer > 1 && rows * (finer == kSlices ? kFirstShrinking : kLeastShrinking) <= of_finer;
}

bool LevelChoice::ShrinksMany(int level, int finer) const {
  double many = 0;
  for (const Stretch& stretch : stretches_) {
    const double of_finer = RowsOf(stretch, finer);
    if (RowsOf(stretch, level) * kMuchShrinking <= of_finer) many += of_finer;
  }
  return many >= kManyRows;
}

std::vector<int> LevelChoice::Choose() const {
  std::vector<int> kept;
  int finer = kSlices;
  for (int level = kFinestLevel; level <= kCoarsestLevel; ++level) {
    if (!ShrinksAll(level, finer) && !ShrinksMany(level, finer)) continue;
    kept.push_back(level);
    finer = level;
  }
  return kept;
}

bool LevelChoice::IsTooCoarse(const std::vector<int>& levels) const {
  int finer = kSlices;
  auto next = levels.begin();
  for (int level = kFinestLevel; level <= kCoarsestLevel; ++level) {
    if (next != levels.end() && *next == level) {
      finer = *next++;
    } else if (ShrinksMany(level, finer)) {
      return true;
    }
  }
  return false;
}

}  // namespace kprof
