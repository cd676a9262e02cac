#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

// Of launches whose durations are those, in another order.
ReportSpread SpreadOf(int64_t launches, int64_t step) {
  TemporaryFolder folder;
  ColumnCache cache(int64_t{8} << 20);
  SampleReport report(folder.path() + "/a.trace.db");
  for (int64_t i = 0; i < launches; ++i) {
    report.AddLaunch("f(float*)", {{kDurationName, static_cast<double>((i * step) % launches + 1)}});
  }
  const std::unique_ptr<PartReader> reader = report.Finish().Finish(cache);
  const AnalysisTraces traces({PartOf(*reader)}, {"01jd"});
  const Result<KernelReports> reports = KernelReports::Read(traces, {}, StopSignal());
  EXPECT_TRUE(reports.ok()) << reports.status().ToString();
  return reports->SpreadOf(reports->kernels().at(0), Quantity::kDuration).value_or(ReportSpread());
}

TEST(LaunchSpread, PercentilesAreOfTheNearestRank) {
  const ReportSpread of_hundred = SpreadOf(100, 37);
  EXPECT_EQ(of_hundred.p25, 25);
  EXPECT_EQ(of_hundred.p50, 50);
  EXPECT_EQ(of_hundred.p75, 75);
  EXPECT_EQ(of_hundred.p95, 95);
  EXPECT_EQ(of_hundred.p99, 99);
  EXPECT_EQ(of_hundred.max, 100);
  const ReportSpread of_seven = SpreadOf(7, 3);
  EXPECT_EQ(of_seven.p25, 2);
  EXPECT_EQ(of_seven.p50, 4);
  EXPECT_EQ(of_seven.p75, 6);
  EXPECT_EQ(of_seven.p95, 7);
  EXPECT_EQ(of_seven.p99, 7);
}

TEST(LaunchSpread, TheDeviationIsThatOfASample) {
  EXPECT_NEAR(SpreadOf(5, 2).std.value_or(0), 1.5811388300841898, 1e-12);  // of 1 to 5, by n - 1
  const ReportSpread of_one = SpreadOf(1, 1);
  EXPECT_EQ(of_one.std, std::nullopt);
  EXPECT_EQ(of_one.p25, 1);
  EXPECT_EQ(of_one.p99, 1);
}

}  // namespace
}  // namespace kprof
