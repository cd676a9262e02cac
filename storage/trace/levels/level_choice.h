// Chooses the levels of detail (detail_levels.h) of a part that are worth their rows. Counts in samples of the part how
// many rows each level would have, without making them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/levels/lane_levels.h"

namespace kprof {

constexpr size_t kDetailLevels = kCoarsestLevel - kFinestLevel + 1;
using LevelRows = std::array<size_t, kDetailLevels>;  // from the finest level on

// Counts the rows that each level of detail would have of some slices, without making them.
//
// One thread. Memory: the last slice of each lane.
class LevelCounts {
 public:
  // Each lane in the order of time.
  void Add(const DetailSlice& slice);
  LevelRows rows() const;
  size_t lanes() const { return last_.size(); }

 private:
  struct Lane {
    int64_t track = 0;
    int64_t depth = 0;
    bool operator==(const Lane& other) const { return track == other.track && depth == other.depth; }
  };
  struct HashLane {
    size_t operator()(const Lane& lane) const;
  };
  struct Last {
    int64_t begin = 0;
    int long_to = 0;  // it is a row of its own up to that level
  };

  std::unordered_map<Lane, Last, HashLane> last_;
  std::array<size_t, kCoarsestLevel + 1> begun_{};  // slices that begin a row up to that level
};

// A segment of a part that is being written: its place in time, and its columns, which are read back by its id.
struct WrittenSegment {
  EventKind kind = EventKind::kSlice;
  int64_t id = 0;
  uint32_t rows = 0;
  int64_t min_time_ns = 0;
  int64_t max_time_ns = 0;
};

// Returns a value for each of its rows. Fails with kStorageBroken when the column has more or fewer.
Result<std::vector<int64_t>> ReadRows(Db& db, const WrittenSegment& segment, EventColumn column);

// Chooses the levels of slices, instants or samples of counters, once all of them are there, the finest level first.
// Looks at stretches of time, about one for each 262,144 events, so that none that is longer and denser than the rest
// goes unseen. If the source had no order, there are fewer stretches: each row is read a few times at most. `segments`
// are of one kind, in the order of their first times.
//
// Memory: some 100,000 events of a stretch. Fails as reading does, and with kCancelled when told to stop.
Result<std::vector<int>> ChooseLevels(Db& db, std::span<const WrittenSegment> segments, const std::stop_token& stop);

// Chooses levels by stretches of a part, for each of which the number of rows on every level is known.
//
// A level is kept if it has at most half of the rows of the finer level that was kept last, or, for the first one, at
// most a quarter of the slices. All levels together then have at most half as many rows as there are slices. A level is
// also kept if some stretches are drawn from at most an eighth of the rows with it, and these rows are many. So no
// window, however much denser than the rest, is drawn from many times the rows that it has pixels.
//
// One thread. Memory: some words for each stretch.
class LevelChoice {
 public:
  struct Stretch {
    size_t slices = 0;      // or samples of counters
    LevelRows rows{};       // of each level
    size_t lanes = 0;       // of these slices: each has one row on each level at least, however short the stretch is
    size_t stands_for = 0;  // of the part's slices
  };
  void Add(const Stretch& stretch);

  // The finest first.
  std::vector<int> Choose() const;
  // True if `levels` lacks one without which some stretches are drawn from too many rows.
  bool IsTooCoarse(const std::vector<int>& levels) const;

 private:
  bool ShrinksAll(int level, int finer) const;
  bool ShrinksMany(int level, int finer) const;

  std::vector<Stretch> stretches_;
};

}  // namespace kprof
