#include "daemon/exports/perfetto_export.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

// What happens when slices come: "lane+begin" and "lane-end", in their order.
class Lanes {
 public:
  Lanes& Add(int64_t begin, int64_t end) {
    const auto ended = [this](size_t lane, int64_t at) { Say(lane, "-", at); };
    const std::optional<size_t> lane = lanes_.Add(begin, end, ended);
    if (lane) Say(*lane, "+", begin);
    all_fit = all_fit && lane;
    return *this;
  }
  std::string Finish() {
    lanes_.Finish([this](size_t lane, int64_t at) { Say(lane, "-", at); });
    return said_;
  }
  bool all_fit = true;

 private:
  void Say(size_t lane, const char* what, int64_t at) {
    said_ += (said_.empty() ? "" : " ") + std::to_string(lane) + what + std::to_string(at);
  }
  SliceLanes lanes_;
  std::string said_;
};

TEST(SliceLanesTest, WhatNestsIsOnOneLane) {
  EXPECT_EQ(Lanes().Add(0, 10).Add(0, 4).Add(4, 10).Add(5, 6).Finish(), "0+0 0+0 0-4 0+4 0+5 0-6 0-10 0-10");
}

TEST(SliceLanesTest, WhatCrossesAnEndIsOnTheNext) {
  EXPECT_EQ(Lanes().Add(0, 10).Add(5, 15).Add(6, 20).Add(10, 12).Finish(), "0+0 1+5 2+6 0-10 0+10 0-12 1-15 2-20");
}

TEST(SliceLanesTest, OfNoDurationEndWhereTheyBegin) {
  EXPECT_EQ(Lanes().Add(0, 0).Add(0, 0).Add(1, 1).Finish(), "0+0 0-0 0+0 0-0 0+1 0-1");
}

TEST(SliceLanesTest, WhatComesLateIsOnALaneWhereItIsNot) {
  EXPECT_EQ(Lanes().Add(5, 6).Add(1, 2).Finish(), "0+5 1+1 0-6 1-2");
}

TEST(SliceLanesTest, ThereIsAnEndToLanes) {
  Lanes lanes;
  const auto most = static_cast<int64_t>(SliceLanes::kMostLanes);
  for (int64_t i = 0; i < most; ++i) lanes.Add(i, 10'000 + i);
  EXPECT_TRUE(lanes.all_fit);
  lanes.Add(most, 10'000 + most);
  EXPECT_FALSE(lanes.all_fit);
}

}  // namespace
}  // namespace kprof
