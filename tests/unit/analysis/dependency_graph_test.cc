#include "daemon/analysis/functions/dependencies/dependency_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using enum DependencyKind;

// From 100: work of 30 and of 50 side by side, joined at 160, and a thread that goes on until 200.
class DependencyGraphTest : public testing::Test {
 protected:
  DependencyGraphTest() {
    graph_.Add({begin_, one_, 30, kDevice, 1});
    graph_.Add({begin_, other_, 50, kDevice, 2});
    graph_.Add({one_, join_, 10, kSync, 3});
    graph_.Add({other_, join_, 10, kSync, 3});
    graph_.Add({begin_, join_, 5, kHost, 4});
    graph_.Add({join_, end_, 40, kHost, 4});
    graph_.Close();
  }

  // The end, if work of that subject takes so long.
  int64_t EndWith(uint32_t subject, int64_t length) const {
    std::vector<int64_t> lengths = graph_.Lengths();
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (graph_.dependencies()[i].subject == subject) lengths[i] = length;
    }
    return graph_.EndWith(lengths);
  }

  DependencyGraph graph_{100};
  // As points come out of order, their numbers say nothing.
  const uint32_t end_ = graph_.AddPoint(200);
  const uint32_t join_ = graph_.AddPoint(160);
  const uint32_t begin_ = graph_.AddPoint(100);
  const uint32_t other_ = graph_.AddPoint(150);
  const uint32_t one_ = graph_.AddPoint(130);
};

TEST_F(DependencyGraphTest, GivesRecordedTimesWithoutAnEdit) {
  EXPECT_EQ(graph_.TimesWith(graph_.Lengths()), graph_.recorded());
  EXPECT_EQ(graph_.left_out(), 0);
}

TEST_F(DependencyGraphTest, TakesTheLongestWay) {
  std::vector<DependencyKind> kinds;
  for (const uint32_t i : graph_.LongestPath()) {
    if (graph_.dependencies()[i].least_ns > 0) kinds.push_back(graph_.dependencies()[i].kind);
  }
  EXPECT_THAT(kinds, ElementsAre(kDevice, kSync, kHost));
}

TEST_F(DependencyGraphTest, SavesUntilAnotherWayIsTheLongest) {
  EXPECT_EQ(EndWith(2, 40), 190);
  EXPECT_EQ(EndWith(2, 20), 180);  // now the other takes longer
  EXPECT_EQ(EndWith(2, 0), 180);
}

TEST_F(DependencyGraphTest, SavesNothingOffThePath) {
  EXPECT_EQ(EndWith(1, 0), 200);
}

TEST_F(DependencyGraphTest, TakesLongerWhenAnythingGrowsBeyondItsSlack) {
  EXPECT_EQ(EndWith(1, 50), 200);
  EXPECT_EQ(EndWith(1, 80), 230);
}

TEST(DependencyGraphOf, ExplainsWhatNothingElseDoes) {
  DependencyGraph graph(10);
  const uint32_t point = graph.AddPoint(25);
  graph.Close();
  ASSERT_EQ(graph.dependencies().size(), 1u);
  EXPECT_EQ(graph.dependencies()[0].kind, kStart);
  EXPECT_EQ(graph.dependencies()[0].to, point);
  EXPECT_EQ(graph.dependencies()[0].least_ns, 15);
  EXPECT_EQ(graph.EndWith(graph.Lengths()), 25);
}

TEST(DependencyGraphOf, LeavesOutWhatGoesBackInTime) {
  DependencyGraph graph(0);
  const uint32_t late = graph.AddPoint(9);
  const uint32_t early = graph.AddPoint(3);
  graph.Add({late, early, 1, kSync});
  graph.Close();
  EXPECT_EQ(graph.left_out(), 1);
  EXPECT_EQ(graph.TimesWith(graph.Lengths()), graph.recorded());
}

TEST(DependencyGraphOf, LeavesOutWhatClosesACircle) {
  DependencyGraph graph(0);
  const uint32_t a = graph.AddPoint(5);
  const uint32_t b = graph.AddPoint(5);
  const uint32_t c = graph.AddPoint(8);
  graph.Add({a, b, 0, kStream});
  graph.Add({b, a, 0, kEvent});
  graph.Add({b, c, 3, kDevice});
  graph.Close();
  EXPECT_EQ(graph.left_out(), 1);
  EXPECT_EQ(graph.TimesWith(graph.Lengths()), graph.recorded());
  EXPECT_EQ(graph.EndWith(graph.Lengths()), 8);
}

TEST(DependencyGraphOf, CutsALeastTimeThatIsLongerThanRecorded) {
  DependencyGraph graph(0);
  const uint32_t a = graph.AddPoint(5);
  graph.Add({DependencyGraph::kOrigin, a, 50, kLaunch});
  graph.Close();
  EXPECT_EQ(graph.EndWith(graph.Lengths()), 5);
}

TEST(DependencyGraphOf, TakesNoTimeWithoutPoints) {
  DependencyGraph graph(7);
  graph.Close();
  EXPECT_EQ(graph.EndWith(graph.Lengths()), 7);
  EXPECT_TRUE(graph.LongestPath().empty());
}

}  // namespace
}  // namespace kprof
