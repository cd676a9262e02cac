#include "daemon/runs/event/event_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

TEST(EventReport, ReadsSamplesNotesAndChecks) {
  const EventReport report = ReadEventReport(
      "{\"case\":\"b=1\",\"ns\":12.5,\"cycles\":3,\"flops\":4,\"bytes\":5,\"wall_ns\":20,\"cache\":\"hot\"}\n"
      "\n"
      "{\"ns\":7}\r\n"
      "{\"note\":\"several_streams\",\"message\":\"two of them\"}\n"
      "{\"check\":\"passed\",\"checked\":12}\n",
      0);
  ASSERT_EQ(report.samples.size(), 2u);
  const EventSample& sample = report.samples[0];
  EXPECT_EQ(sample.case_name, "b=1");
  EXPECT_EQ(sample.ns, 12.5);
  EXPECT_EQ(*sample.cycles + *sample.flops + *sample.bytes + *sample.wall_ns, 32);
  EXPECT_EQ(sample.cache, "hot");
  EXPECT_EQ(report.samples[1].case_name, "");
  EXPECT_FALSE(report.samples[1].flops);
  EXPECT_THAT(report.notes, testing::ElementsAre(TrustReason{"several_streams", "two of them"}));
  EXPECT_FALSE(report.check_failed);
  EXPECT_EQ(report.lines, 4);
  EXPECT_EQ(report.bad_lines, 0);
}

TEST(EventReport, KeepsTheFirstCheckThatFailed) {
  const EventReport report = ReadEventReport(
      "{\"check\":\"failed\",\"message\":\"element "
      "3\",\"case\":\"b=1\"}\n{\"check\":\"failed\",\"message\":\"later\"}\n",
      0);
  EXPECT_EQ(report.check_failed, "case b=1: element 3");
}

TEST(EventReport, CountsLinesThatAreNone) {
  const std::string bad[] = {
      "nonsense",
      "[1]",
      "{}",
      "{\"ns\":\"5\"}",
      "{\"ns\":1e999}",
      "{\"ns\":5,\"case\":7}",
      "{\"ns\":5,\"cache\":\"warm\"}",
      "{\"ns\":5,\"flops\":true}",
      "{\"note\":\"Not A Code\"}",
      "{\"note\":5}",
      "{\"check\":\"maybe\"}",
      "{\"ns\":5} x",
      std::string("{\"ns\":5,\"case\":\"") + std::string(5000, 'a') + "\"}",
  };
  for (const std::string& line : bad) {
    const EventReport report = ReadEventReport("{\"ns\":1}\n" + line + "\n", 0);
    EXPECT_EQ(report.bad_lines, 1) << line;
    EXPECT_TRUE(report.first_bad.starts_with("line 2: ")) << report.first_bad;
    EXPECT_EQ(report.samples.size(), 1u);
  }
}

TEST(EventReport, TakesImpossibleTimesForTheVerdictToSee) {
  const EventReport report = ReadEventReport("{\"ns\":0}\n{\"ns\":-3}\n", 0);
  EXPECT_EQ(report.samples.size(), 2u);
}

TEST(EventReport, LeavesOutALineThatIsCutOff) {
  const EventReport report = ReadEventReport("{\"ns\":1}\n{\"ns\":12", 100);
  EXPECT_EQ(report.samples.size(), 1u);
  EXPECT_EQ(report.bad_lines, 0);
  EXPECT_EQ(report.dropped_bytes, 108);
}

TEST(EventReport, TakesAThousandCases) {
  std::string text;
  for (int i = 0; i < 1002; ++i) text += "{\"case\":\"" + std::to_string(i) + "\",\"ns\":1}\n";
  const EventReport report = ReadEventReport(text, 0);
  EXPECT_EQ(report.samples.size(), kMostCases);
  EXPECT_EQ(report.bad_lines, 2);
}

}  // namespace
}  // namespace kprof
