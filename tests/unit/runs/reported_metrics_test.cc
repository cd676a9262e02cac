#include "daemon/runs/command/reported_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string WhyBad(const std::string& line) {
  const Result<MetricRow> metric = ReadMetricLine(line);
  EXPECT_FALSE(metric.ok()) << line;
  return metric.ok() ? "" : metric.status().why();
}

TEST(ReportedMetrics, AreWhatTheirLinesSay) {
  const MetricRow full = *ReadMetricLine(
      R"( { "name" : "dram.bytes" , "value" : -1.5e3, "unit":"byte", "kernel":"gemm<\"a\"\u00e9\ud83d\ude00>", "launch":7 } )");
  EXPECT_EQ(full, (MetricRow{"dram.bytes", -1500, "byte", "gemm<\"a\"\u00e9\U0001f600>", 7}));
  EXPECT_EQ(*ReadMetricLine(R"({"value":0,"name":"loss"})"), (MetricRow{.name = "loss", .value = 0}));
  EXPECT_EQ(ReadMetricLine("{\"name\":\"a\",\"value\":1}\r")->value, 1);
  EXPECT_EQ(ReadMetricLine(R"({"name":"\/\b","value":1})").ok(), false);  // a control character
  EXPECT_EQ(ReadMetricLine(R"({"name":"a\/b\\","value":1})")->name, "a/b\\");
}

TEST(ReportedMetrics, LinesThatAreNoneSayWhy) {
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"loss=3", "no JSON object"},
           {"[1]", "no JSON object"},
           {"{\"name\":\"a\",\"value\":1", "does not end"},
           {"{\"name\":\"a\",\"value\":1,}", "names and values"},
           {"{\"name\":\"a\",\"value\":1} x", "behind its JSON object"},
           {"{}", "no \"name\""},
           {"{\"value\":1}", "no \"name\""},
           {"{\"name\":\"a\"}", "no \"value\""},
           {"{\"name\":\"\",\"value\":1}", "is empty"},
           {"{\"name\":7,\"value\":1}", "no text"},
           {"{\"name\":\"a\",\"value\":\"1\"}", "no number"},
           {"{\"name\":\"a\",\"value\":NaN}", "no number"},
           {"{\"name\":\"a\",\"value\":Infinity}", "no number"},
           {"{\"name\":\"a\",\"value\":1e999}", "no number"},
           {"{\"name\":\"a\",\"value\":01}", "no number"},
           {"{\"name\":\"a\",\"value\":+1}", "no number"},
           {"{\"name\":\"a\",\"value\":.5}", "no number"},
           {"{\"name\":\"a\",\"value\":5.}", "no number"},
           {"{\"name\":\"a\",\"value\":1e}", "no number"},
           {"{\"name\":\"a\",\"value\":0x10}", "does not end"},
           {"{\"name\":\"a\",\"value\":null}", "no number"},
           {"{\"name\":\"a\",\"value\":{\"b\":1}}", "no number"},
           {"{\"name\":\"a\",\"value\":1,\"kernal\":\"g\"}", "\"kernal\" is none of"},
           {"{\"name\":\"a\",\"name\":\"b\",\"value\":1}", "\"name\" twice"},
           {"{\"name\":\"a\",\"value\":1,\"value\":2}", "\"value\" twice"},
           {"{\"name\":\"a\",\"value\":1,\"launch\":3}", "no \"kernel\""},
           {"{\"name\":\"a\",\"value\":1,\"kernel\":\"g\",\"launch\":-1}", "whole number"},
           {"{\"name\":\"a\",\"value\":1,\"kernel\":\"g\",\"launch\":1.5}", "whole number"},
           {"{\"name\":\"\xff\",\"value\":1}", "not UTF-8"},
           {"{\"name\":\"\\ud800\",\"value\":1}", "no text"},
           {"{\"name\":\"\\u00\",\"value\":1}", "no text"},
           {"{\"name\":\"\\x\",\"value\":1}", "no text"},
           {"{\"name\":\"a\tb\",\"value\":1}", "no text"},
           {"{\"name\":\"" + std::string(kMostMetricNameBytes + 1, 'n') + "\",\"value\":1}", "more than 200 bytes"},
           {"{\"name\":\"a\",\"value\":1,\"unit\":\"" + std::string(kMostMetricUnitBytes + 1, 'u') + "\"}",
            "more than 32 bytes"},
           {std::string(100'000, '{'), "names and values"},
       }) {
    EXPECT_THAT(WhyBad(line), HasSubstr(why)) << line.substr(0, 80);
  }
}

TEST(ReportedMetrics, TheLastOfAMetricCounts) {
  const ReportedMetrics reported = ReadReportedMetrics(
      "{\"name\":\"loss\",\"value\":3}\n\n{\"name\":\"acc\",\"value\":1}\n{\"name\":\"loss\",\"value\":2}", 0);
  ASSERT_THAT(reported.rows, SizeIs(2));
  EXPECT_EQ(reported.rows[0].metric.value, 2);
  EXPECT_EQ(reported.rows[0].line, 4);
  EXPECT_EQ(reported.lines, 3);
  EXPECT_EQ(reported.bad_lines, 0);
}

TEST(ReportedMetrics, BadLinesAreCountedAndTheFirstIsNamed) {
  RunRow row;
  std::vector<MetricRow> kernels;
  AddReportedMetrics(ReadReportedMetrics("{\"name\":\"a\",\"value\":1}\nnonsense\n{}\n", 0), row, kernels);
  ASSERT_THAT(row.trust, SizeIs(1));
  EXPECT_EQ(row.trust[0].code, "metrics_not_understood");
  EXPECT_EQ(row.trust[0].message,
            "2 of 3 lines in $KPROF_METRICS are no metrics; the first, line 2: it is no JSON object");
  EXPECT_THAT(row.metrics, SizeIs(1));
}

TEST(ReportedMetrics, WhatKprofdMeasuredItselfStays) {
  RunRow row;
  row.metrics = {{.name = "wall_ns", .value = 5, .unit = "ns"}};
  std::vector<MetricRow> kernels;
  AddReportedMetrics(ReadReportedMetrics("{\"name\":\"wall_ns\",\"value\":1}\n{\"name\":\"tokens\",\"value\":2}\n", 0),
                     row, kernels);
  ASSERT_THAT(row.metrics, SizeIs(2));
  EXPECT_EQ(row.metrics[0].value, 5);
  EXPECT_EQ(row.metrics[1].name, "tokens");
  ASSERT_THAT(row.trust, SizeIs(1));
  EXPECT_THAT(row.trust[0].message, HasSubstr("line 1: \"wall_ns\" is measured by kprofd itself"));
}

TEST(ReportedMetrics, ThoseOfKernelsStandBesideTheRow) {
  RunRow row;
  std::vector<MetricRow> kernels;
  AddReportedMetrics(ReadReportedMetrics("{\"name\":\"wall_ns\",\"value\":1,\"kernel\":\"gemm\"}\n"
                                         "{\"name\":\"wall_ns\",\"value\":2,\"kernel\":\"gemm\",\"launch\":0}\n",
                                         0),
                     row, kernels);
  EXPECT_THAT(row.metrics, IsEmpty());
  EXPECT_THAT(row.trust, IsEmpty());
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(kernels[1].launch, 0);
}

TEST(ReportedMetrics, AreBoundedAndSayWhatIsLeftOut) {
  std::string text;
  for (int i = 0; i < 3'000; ++i) {
    const std::string n = std::to_string(i);
    text += "{\"name\":\"m" + n + "\",\"value\":1}\n{\"name\":\"m\",\"value\":1,\"kernel\":\"k" + n + "\"}\n";
  }
  RunRow row;
  std::vector<MetricRow> kernels;
  AddReportedMetrics(ReadReportedMetrics(text + "{\"name\":\"cut", 17), row, kernels);
  EXPECT_THAT(row.metrics, SizeIs(kMostReportedTotals));
  EXPECT_THAT(kernels, SizeIs(kMostReportedKernelMetrics));
  ASSERT_THAT(row.trust, SizeIs(1));
  EXPECT_EQ(row.trust[0].code, "metrics_dropped");
  EXPECT_THAT(row.trust[0].message, HasSubstr("29 bytes and 3696 metrics"));
}

TEST(ReportedMetrics, NothingSaysNothing) {
  RunRow row;
  std::vector<MetricRow> kernels;
  AddReportedMetrics(ReadReportedMetrics("\n \n", 0), row, kernels);
  EXPECT_EQ(row, RunRow());
}

}  // namespace
}  // namespace kprof
