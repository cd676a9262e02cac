#include "storage/trace/levels/level_choice.h"

namespace kprof {
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
