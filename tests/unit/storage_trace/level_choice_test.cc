#include "storage/trace/level_choice.h"

#include <gtest/gtest.h>

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

TEST(LevelChoice, AStretchOfNothingSaysNothing) {
  LevelChoice choice;
  choice.Add({.slices = 0, .stands_for = 1'000'000});
  EXPECT_EQ(choice.Choose(), Levels());
}

}  // namespace
}  // namespace kprof
