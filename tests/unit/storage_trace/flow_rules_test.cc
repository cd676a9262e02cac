#include "storage/trace/format/flow_rules.h"

#include <gtest/gtest.h>

#include <map>

namespace kprof {
namespace {

class FlowBinderTest : public testing::Test {
 protected:
  void Point(int64_t time_ns, bool binds_next = false) {
    binder_.AddPoint({.time_ns = time_ns, .row = points_++, .binds_next = binds_next});
  }
  void Slice(int64_t time_ns, int64_t duration_ns) { binder_.AddSlice(time_ns, duration_ns, slices_++, bound_); }

  FlowBinder binder_;
  int64_t points_ = 0;
  int64_t slices_ = 0;
  std::map<int64_t, int64_t> slice_of_;  // points by their numbers
  FlowBinder::Bound bound_ = [this](const FlowPoint& point) {
    EXPECT_TRUE(slice_of_.emplace(point.row, point.slice).second);
  };
};

using BoundSlices = std::map<int64_t, int64_t>;

TEST_F(FlowBinderTest, APointLiesInTheLatestBegunSliceWithItsBeginAndItsEnd) {
  for (const int64_t time : {0, 10, 15, 30, 31, 100, 101}) Point(time);
  Slice(0, 100);
  Slice(10, 20);
  binder_.Finish(bound_);
  EXPECT_EQ(slice_of_, (BoundSlices{{0, 0}, {1, 1}, {2, 1}, {3, 1}, {4, 0}, {5, 0}, {6, kNoValue}}));
}

TEST_F(FlowBinderTest, OneThatBindsNextTouchesTheNextToBegin) {
  for (const int64_t time : {-5, 10, 15, 300}) Point(time, true);
  Slice(0, 100);
  Slice(10, 20);
  Slice(10, 5);
  Slice(200, kNoValue);
  binder_.Finish(bound_);
  EXPECT_EQ(slice_of_, (BoundSlices{{0, 0}, {1, 1}, {2, 3}, {3, kNoValue}}));
}

TEST_F(FlowBinderTest, NothingLiesInASliceWithoutAnEnd) {
  Point(10);
  Point(20);
  Slice(0, 15);
  Slice(10, kNoValue);
  binder_.Finish(bound_);
  EXPECT_EQ(slice_of_, (BoundSlices{{0, 0}, {1, kNoValue}}));
}

TEST_F(FlowBinderTest, PointsMayComeWhileSlicesGoBy) {
  Slice(0, 100);
  Point(50);
  Point(60, true);
  binder_.AdvanceTo(70, bound_);
  EXPECT_EQ(slice_of_, (BoundSlices{{0, 0}}));
  EXPECT_EQ(binder_.waiting(), 1u);
  Slice(80, 5);
  Point(90);
  binder_.Finish(bound_);
  EXPECT_EQ(slice_of_, (BoundSlices{{0, 0}, {1, 1}, {2, 0}}));
  EXPECT_EQ(binder_.waiting(), 0u);
}

TEST_F(FlowBinderTest, OfTooManyOpenSlicesThoseBegunFirstAreForgotten) {
  const auto most = static_cast<int64_t>(FlowBinder::kMostOpen);
  for (int64_t i = 0; i <= most; ++i) Slice(i, 10 * most - 2 * i);
  Point(10 * most - most);
  Point(10 * most);
  binder_.Finish(bound_);
  EXPECT_EQ(slice_of_.at(0), most);
  EXPECT_EQ(slice_of_.at(1), kNoValue);
}

}  // namespace
}  // namespace kprof
