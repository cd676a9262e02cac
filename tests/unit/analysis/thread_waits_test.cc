#include "daemon/analysis/functions/dependencies/thread_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace kprof {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr int64_t kMicro = 1'000;

class ThreadWaitsTest : public testing::Test {
 protected:
  void AddOperator(uint32_t track, int64_t from_us, int64_t to_us) {
    operators_.push_back({from_us * kMicro, to_us * kMicro, 0, kNoValue, track});
  }
  void AddCall(uint32_t track, int64_t from_us, int64_t to_us) {
    calls_.push_back({from_us * kMicro, to_us * kMicro, 0, kNoValue, track});
  }

  // As from track, its time, to track, its time, in microseconds.
  std::vector<std::tuple<uint32_t, int64_t, uint32_t, int64_t>> Find() {
    SortByTrack(operators_);
    SortByTrack(calls_);
    std::vector<std::tuple<uint32_t, int64_t, uint32_t, int64_t>> found;
    const auto process_of = [this](uint32_t track) { return track == stranger_ ? "other" : "one"; };
    for (const ThreadWait& wait : FindThreadWaits(ThreadActivity(operators_, calls_), process_of)) {
      found.emplace_back(wait.from_track, wait.from_ns / kMicro, wait.to_track, wait.to_ns / kMicro);
    }
    return found;
  }

  std::vector<PartSlice> operators_;
  std::vector<PartSlice> calls_;
  uint32_t stranger_ = 99;
};

TEST_F(ThreadWaitsTest, FindsABurstWithinAQuietStretch) {
  AddOperator(1, 0, 20);
  AddOperator(2, 30, 60);
  AddOperator(2, 70, 90);
  AddOperator(1, 100, 120);
  EXPECT_THAT(Find(), UnorderedElementsAre(std::tuple(1, 20, 2, 30), std::tuple(2, 90, 1, 100)));
}

TEST_F(ThreadWaitsTest, FindsItWithinAnOperatorThatDoesNothingItself) {
  AddOperator(1, 0, 200);
  AddOperator(2, 30, 60);
  EXPECT_THAT(Find(), UnorderedElementsAre(std::tuple(1, 0, 2, 30), std::tuple(2, 60, 1, 200)));
}

TEST_F(ThreadWaitsTest, FindsALongBurstThatGoesOn) {
  AddOperator(1, 0, 20);
  AddCall(2, 30, 360);
  AddOperator(1, 200, 210);
  AddOperator(1, 370, 390);
  EXPECT_THAT(Find(),
              UnorderedElementsAre(std::tuple(1, 20, 2, 30), std::tuple(2, 200, 1, 200), std::tuple(2, 360, 1, 370)));
}

TEST_F(ThreadWaitsTest, LeavesOutABurstThatWasThereBefore) {
  AddCall(2, 0, 240);
  AddOperator(1, 10, 20);
  AddOperator(1, 250, 270);
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(ThreadWaitsTest, LeavesOutAShortBurstThatGoesOn) {
  AddOperator(1, 0, 20);
  AddOperator(2, 30, 110);
  AddOperator(1, 100, 120);
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(ThreadWaitsTest, LeavesOutACallThatMayWaitForADevice) {
  AddCall(1, 0, 100);
  AddOperator(2, 30, 60);
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(ThreadWaitsTest, LeavesOutOtherProcesses) {
  stranger_ = 2;
  AddOperator(1, 0, 20);
  AddOperator(2, 30, 60);
  AddOperator(1, 100, 120);
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(ThreadWaitsTest, TakesTheLastOfSeveralBursts) {
  AddOperator(1, 0, 20);
  AddOperator(2, 30, 60);
  AddOperator(3, 40, 80);
  AddOperator(1, 100, 120);
  EXPECT_THAT(Find(), UnorderedElementsAre(std::tuple(1, 20, 3, 40), std::tuple(3, 80, 1, 100)));
}

}  // namespace
}  // namespace kprof
