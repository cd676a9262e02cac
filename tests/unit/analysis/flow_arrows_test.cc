#include "daemon/analysis/flow_arrows.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

struct SamplePoint {
  int64_t time = 0;
  int64_t track = 0;
  char phase = 's';
  const char* id = "";
  bool enclosing = false;
};

class FlowArrows : public testing::Test {
 protected:
  // Slices [0, 100) and [200, 300) on each of two tracks.
  std::vector<FlowArrow> Find(const std::vector<SamplePoint>& points, size_t most = 100) {
    SamplePart part(trace_.NewPath());
    AddSampleTracks(part);
    part.AddSlices({{.time = 0, .duration = 100, .track = 0},
                    {.time = 200, .duration = 100, .track = 0},
                    {.time = 0, .duration = 100, .track = 1},
                    {.time = 200, .duration = 100, .track = 1}},
                   100);
    const auto bp = static_cast<uint32_t>(part.StringNumber("bp"));
    EXPECT_TRUE(part.writer().AddShape(1, {{bp, ArgType::kString, true}}).ok());
    EventRows rows;
    rows.args = {{}, {{}}};
    for (const SamplePoint& point : points) {
      rows.of(EventColumn::kTime).push_back(point.time);
      rows.of(EventColumn::kTrack).push_back(point.track);
      rows.of(EventColumn::kName).push_back(part.StringNumber("flow"));
      rows.of(EventColumn::kCategory).push_back(part.StringNumber("ac2g"));
      rows.of(EventColumn::kShape).push_back(point.enclosing ? 1 : 0);
      rows.of(EventColumn::kFlowId).push_back(part.StringNumber(point.id));
      rows.of(EventColumn::kPhase).push_back(point.phase);
      for (const EventColumn column : ColumnsOf(EventKind::kFlow)) {
        if (rows.of(column).size() < rows.size()) rows.of(column).push_back(kNoValue);
      }
      if (point.enclosing) rows.args[1][0].push_back(part.StringNumber("e"));
    }
    part.AddRows(EventKind::kFlow, rows, 3);
    SliceTree tree(trace_.Take(part));
    std::vector<FlowArrow> arrows;
    status_ = FindFlowArrows(trace_.parts().back(), {.most_points = most}, tree, {}, [&](const FlowArrow& arrow) {
      arrows.push_back(arrow);
      return true;
    });
    return arrows;
  }
  // A slice's row by its track and time.
  std::optional<int64_t> Row(int64_t track, int64_t time) {
    for (const SampleRow& row : RowsOf(*trace_.parts().back().reader)) {
      if (row.slice.track == track && row.slice.time == time) return row.row;
    }
    return std::nullopt;
  }
  SampleTrace trace_;
  Status status_;
};

TEST_F(FlowArrows, PointsOfOneIdFollowEachOtherInTime) {
  const std::vector<FlowArrow> arrows = Find(
      {{250, 0, 'f', "1", true}, {10, 0, 's', "1"}, {50, 1, 't', "1"}, {20, 0, 's', "2"}, {210, 1, 'f', "2", true}});
  ASSERT_TRUE(status_.ok()) << status_.ToString();
  ASSERT_EQ(arrows.size(), 3u);
  EXPECT_EQ(arrows[0].from.slice, Row(0, 0));
  EXPECT_EQ(arrows[0].to.slice, Row(1, 0));
  EXPECT_EQ(arrows[1].from.slice, Row(1, 0));
  EXPECT_EQ(arrows[1].to.slice, Row(0, 200));
  EXPECT_EQ(arrows[2].from.time_ns, 20);
  EXPECT_EQ(arrows[2].to.slice, Row(1, 200));
  EXPECT_EQ(*trace_.parts().back().reader->ReadString(arrows[2].id), "2");
}

TEST_F(FlowArrows, AnEndBindsToTheNextSliceUnlessItSaysEnclosing) {
  const std::vector<FlowArrow> arrows = Find({{10, 0, 's', "1"},
                                              {50, 1, 'f', "1"},
                                              {10, 0, 's', "2"},
                                              {50, 1, 'f', "2", true},
                                              {10, 0, 's', "3"},
                                              {350, 1, 'f', "3"}});
  ASSERT_EQ(arrows.size(), 3u);
  EXPECT_EQ(arrows[0].to.slice, Row(1, 200));
  EXPECT_EQ(arrows[1].to.slice, Row(1, 0));
  EXPECT_EQ(arrows[2].to.slice, std::nullopt);
}

TEST_F(FlowArrows, WhatEndsWithoutABeginIsNoArrow) {
  EXPECT_TRUE(Find({{50, 1, 'f', "1", true}, {10, 0, 't', "2"}, {60, 1, 's', "3"}}).empty());
}

TEST_F(FlowArrows, OneBeginAndOneEndAreAPairWhateverClocksSay) {
  const std::vector<FlowArrow> arrows = Find({{50, 1, 'f', "1", true}, {60, 0, 's', "1"}});
  ASSERT_EQ(arrows.size(), 1u);
  EXPECT_EQ(arrows[0].from.slice, Row(0, 0));
  EXPECT_EQ(arrows[0].to.slice, Row(1, 0));
}

TEST_F(FlowArrows, APointLiesInASliceWithItsEnd) {
  const std::vector<FlowArrow> arrows = Find({{100, 0, 's', "1"}, {300, 1, 'f', "1", true}});
  ASSERT_EQ(arrows.size(), 1u);
  EXPECT_EQ(arrows[0].from.slice, Row(0, 0));
  EXPECT_EQ(arrows[0].to.slice, Row(1, 200));
}

TEST_F(FlowArrows, OfOneTimeABeginComesBeforeAnEnd) {
  const std::vector<FlowArrow> arrows = Find({{50, 1, 'f', "1", true}, {50, 0, 's', "1"}});
  ASSERT_EQ(arrows.size(), 1u);
  EXPECT_EQ(arrows[0].from.slice, Row(0, 0));
}

TEST_F(FlowArrows, MorePointsThanAskedForIsAnError) {
  Find({{10, 0, 's', "1"}, {50, 1, 'f', "1"}}, 1);
  EXPECT_EQ(status_.code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof
