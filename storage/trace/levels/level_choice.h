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

#include <vector>

#include "storage/trace/levels/level_counts.h"

namespace kprof {

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
