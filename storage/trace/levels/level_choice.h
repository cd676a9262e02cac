// Which levels of detail (detail_levels.h) of a part are worth their rows, by samples of what it holds: stretches, of
// each of which is known how many rows every level would have.
//
// A level is kept that has no more than half of the rows of the last one that is kept, or, the first, than a quarter of
// the slices: all of them together are then no more than half as many as those. And one is kept that they are drawn
// from in an eighth of the rows in some stretches at least, where those are not few: so no window, however much denser
// than the rest, is drawn from many times the rows that it has pixels.
//
// One thread. Memory: some words for each stretch.
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

// How many rows each level of detail (detail_levels.h) would have of some slices, without making them.
//
// One thread. Memory: what each lane had last.
constexpr size_t kDetailLevels = kCoarsestLevel - kFinestLevel + 1;
using LevelRows = std::array<size_t, kDetailLevels>;  // from the finest level on

class LevelCounts {
 public:
  // On each lane in the order of time.
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

// A segment of a part that is being written: where it is in time, and its columns, which are read back.
struct WrittenSegment {
  EventKind kind = EventKind::kSlice;
  int64_t id = 0;
  uint32_t rows = 0;
  int64_t min_time_ns = 0;
  int64_t max_time_ns = 0;
};

// A value for each of its rows. Fails with kStorageBroken where there are more or fewer.
Result<std::vector<int64_t>> ReadRows(Db& db, const WrittenSegment& segment, EventColumn column);

// Which levels of detail are worth their rows, of slices, instants or samples of counters that are all there: by what
// lies in some stretches of time, one about each 262,144 of them, so that none that is longer and denser than the rest
// goes unseen. Where their source had no order, they are fewer stretches: each of all rows is read some times at most.
//
// Memory: some 100,000 events of a stretch. Fails as reading does, and with kCancelled when told to stop.

// `segments`, of one kind, in the order of their first times. The finest level first.
Result<std::vector<int>> ChooseLevels(Db& db, std::span<const WrittenSegment> segments, const std::stop_token& stop);

class LevelChoice {
 public:
  struct Stretch {
    size_t slices = 0;      // or samples of counters
    LevelRows rows{};       // of each level
    size_t lanes = 0;       // that these are on: each has one row on each level at least, however short the stretch is
    size_t stands_for = 0;  // of the part's slices
  };
  void Add(const Stretch& stretch);

  // The finest first.
  std::vector<int> Choose() const;
  // Whether one is missing without which some stretches are drawn from too many rows.
  bool IsTooCoarse(const std::vector<int>& levels) const;

 private:
  bool ShrinksAll(int level, int finer) const;
  bool ShrinksMany(int level, int finer) const;

  std::vector<Stretch> stretches_;
};

}  // namespace kprof
