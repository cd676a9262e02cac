#include "storage/trace/levels/level_choice.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kprof {
namespace {

using Levels = std::vector<int>;

// Of slices that lie every 4^level ns: a row each as far as that level, of four each on the next ones.
LevelChoice::Stretch Every(int level, size_t slices, size_t stands_for) {
  LevelChoice::Stretch stretch{.slices = slices, .stands_for = stands_for};
  for (int at = kFinestLevel; at <= kCoarsestLevel; ++at) {
    const int coarser = at - level;
    stretch.rows[static_cast<size_t>(at - kFinestLevel)] = coarser <= 0 ? slices : ((slices - 1) >> (2 * coarser)) + 1;
  }
  return stretch;
}

TEST(LevelChoice, OfNothingThereAreNone) {
  EXPECT_EQ(LevelChoice().Choose(), Levels());
  EXPECT_FALSE(LevelChoice().IsTooCoarse({}));
}

TEST(LevelChoice, TheFirstHasAQuarterAndTheOthersAreHalfOfTheOneBefore) {
  LevelChoice choice;
  choice.Add(Every(8, 4096, 4096));
  EXPECT_EQ(choice.Choose(), (Levels{9, 10, 11, 12, 13, 14}));
}

// Half of all slices are far apart: on no level that is fine enough for the others are there half as many.
TEST(LevelChoice, WhatIsDenserThanTheRestHasItsLevels) {
  LevelChoice choice;
  choice.Add(Every(14, 16'384, 4 << 20));
  choice.Add(Every(4, 16'384, 4 << 20));
  const Levels levels = choice.Choose();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.front(), 6);  // a sixteenth of the dense ones
  EXPECT_FALSE(choice.IsTooCoarse(levels));
}

TEST(LevelChoice, WhatIsDenseAndLittleNeedsNone) {
  LevelChoice choice;
  choice.Add(Every(14, 16'384, 4 << 20));
  choice.Add(Every(4, 16'384, 100'000));
  EXPECT_EQ(choice.Choose().front(), 15);
}

TEST(LevelChoice, LevelsOfASparseBeginAreTooCoarseForWhatComesThen) {
  LevelChoice choice;
  choice.Add(Every(9, 131'072, 131'072));
  const Levels levels = choice.Choose();
  EXPECT_EQ(levels.front(), 10);
  choice.Add(Every(4, 8'192, 131'072));
  EXPECT_TRUE(choice.IsTooCoarse(levels));
  EXPECT_FALSE(choice.IsTooCoarse(choice.Choose()));
}

TEST(LevelChoice, LevelsOfADenseBeginAreFineForWhatIsSparse) {
  LevelChoice choice;
  choice.Add(Every(4, 131'072, 131'072));
  const Levels levels = choice.Choose();
  for (int i = 0; i < 64; ++i) choice.Add(Every(9, 8'192, 131'072));
  EXPECT_FALSE(choice.IsTooCoarse(levels));
}

// Sixteen of each of a thousand tracks are looked at, of sixteen thousand that each has: no level is left out by which
// those would be far fewer, as each track has a row on all.
TEST(LevelChoice, OfManyLanesAFewSlicesTellEnough) {
  LevelChoice choice;
  for (int i = 0; i < 8; ++i) {
    LevelChoice::Stretch stretch = Every(8, 16'000, 2'000'000);
    stretch.lanes = 1'000;
    for (size_t& rows : stretch.rows) rows = std::max<size_t>(rows, 1'000);
    choice.Add(stretch);
  }
  const Levels levels = choice.Choose();
  ASSERT_GE(levels.size(), 2u);
  EXPECT_EQ(levels.front(), 9);
  EXPECT_GE(levels.back(), 10);
  choice = LevelChoice();
  LevelChoice::Stretch alone = Every(14, 1'000, 1'000'000);  // one slice of each says nothing
  alone.lanes = 1'000;
  choice.Add(alone);
  EXPECT_EQ(choice.Choose(), Levels());
}

TEST(LevelChoice, AStretchOfNothingSaysNothing) {
  LevelChoice choice;
  choice.Add({.slices = 0, .stands_for = 1'000'000});
  EXPECT_EQ(choice.Choose(), Levels());
}

}  // namespace
}  // namespace kprof
