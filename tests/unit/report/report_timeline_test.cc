#include "daemon/analysis/report/report_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kStep = 1'000'000;
constexpr int64_t kThread = 0;
constexpr int64_t kStreamOfSecond = 1;
constexpr int64_t kStream = 2;
constexpr int64_t kOtherStream = 3;

class ReportTimelineTest : public testing::Test {
 protected:
  Report ReportOf(const std::vector<SampleSlice>& slices) {
    SamplePart part(folder_.path() + "/a.trace.db");
    part.AddTrack("cpu_thread", "main");
    part.AddTrack("gpu_stream", "stream", 1, 7);
    part.AddTrack("gpu_stream", "stream", 0, 7);
    part.AddTrack("gpu_stream", "stream", 0, 9);
    part.AddSlices(slices, 100);
    reader_ = part.Finish(cache_);
    TracePart open;
    open.reader = reader_.get();
    Report report;
    const Status added = AddTraceTimes(AnalysisTraces({open}, {"01jd"}, take_memory_), StopSignal(), report);
    EXPECT_TRUE(added.ok()) << added.ToString();
    return report;
  }

  TemporaryFolder folder_;
  ColumnCache cache_{int64_t{8} << 20};
  std::unique_ptr<PartReader> reader_;
  TakeMemory take_memory_;  // null: there is no limit
};

TEST_F(ReportTimelineTest, HiddenAndExposedTimesAreThoseOfEachDevice) {
  const Report report = ReportOf({{0, 4 * kStep, kStream, "gemm", "kernel"},
                                  {3 * kStep, 4 * kStep, kOtherStream, "ncclDevKernel_AllReduce", "kernel"},
                                  {1 * kStep, 1 * kStep, kOtherStream, "Memcpy HtoD", "gpu_memcpy"},
                                  {0, 10 * kStep, kStreamOfSecond, "gemm", "kernel"}});
  ASSERT_EQ(report.devices.size(), 2U);
  const ReportDeviceTime& first = report.devices[0];
  EXPECT_EQ(first.device, 0);
  EXPECT_EQ(first.total_ns, 10 * kStep);
  EXPECT_EQ(first.compute_ns, 4 * kStep);
  EXPECT_EQ(first.communication_ns, 4 * kStep);
  EXPECT_EQ(first.hidden_communication_ns, 1 * kStep);
  EXPECT_EQ(first.copies_ns, 1 * kStep);
  EXPECT_EQ(first.hidden_copies_ns, 1 * kStep);
  EXPECT_EQ(first.idle_ns, 3 * kStep);
  EXPECT_EQ(report.devices[1].device, 1);
  EXPECT_EQ(report.timeline.front(), (std::pair<std::string, std::optional<double>>{"compute", 70.0}));
}

TEST_F(ReportTimelineTest, IdleTimesHaveTheirCausesAndTheKernelsOnBothSides) {
  const Report report = ReportOf({{0, 10'000, kThread, "cudaLaunchKernel", "cuda_runtime", 1},
                                  {20'000, 2 * kStep, kStream, "first", "kernel", 1},
                                  {2 * kStep, 3 * kStep, kThread, "cudaDeviceSynchronize", "cuda_runtime"},
                                  {5 * kStep, 10'000, kThread, "cudaLaunchKernel", "cuda_runtime", 2},
                                  {5 * kStep + 20'000, 2'000, kStream, "second", "kernel", 2}});
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices.front().host_wait_ns, 3 * kStep);
  ASSERT_EQ(report.launches.size(), 1U);
  EXPECT_EQ(report.launches.front().launches, 2);
  EXPECT_EQ(report.launches.front().short_launches, 1);
  EXPECT_EQ(report.launches.front().delay_ns, 20'000);
  ASSERT_FALSE(report.gaps.empty());
  const ReportGap& gap = report.gaps.front();
  EXPECT_EQ(gap.begin_ns, 2 * kStep + 20'000);
  EXPECT_EQ(gap.cause, "host_wait");
  EXPECT_EQ(gap.host, "sync: cudaDeviceSynchronize");
  EXPECT_EQ(gap.before, "first");
  EXPECT_EQ(gap.after, "second");
}

TEST_F(ReportTimelineTest, WhatDoesNotFitIsLeftOutWithANote) {
  take_memory_ = [left = int64_t{64} << 10](int64_t bytes) mutable {
    left -= bytes;
    return left >= 0 ? OkStatus() : Fail(ErrorCode::kUsage, "hold an answer", "too much", "ask for less");
  };
  std::vector<SampleSlice> slices;
  for (int64_t i = 0; i < 2'000; ++i) {
    slices.push_back({i * 100, 10, kThread, "cudaLaunchKernel", "cuda_runtime", i + 1});
    slices.push_back({i * 100 + 20, 60, kStream, "gemm", "kernel", i + 1});
  }
  const Report report = ReportOf(slices);
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices.front().compute_ns, 120'000);
  EXPECT_THAT(report.launches, IsEmpty());
  EXPECT_THAT(report.notes, Contains(HasSubstr("what launch-stats says is left out: ")));
  EXPECT_THAT(TimelineMarkdown(report), HasSubstr("\n#### Launches\nThe trace is too long for it: see the notes.\n"));
}

TEST_F(ReportTimelineTest, WithoutLaunchesNobodyKnowsOfHostWaits) {
  const Report report =
      ReportOf({{0, kStep, kStream, "gemm", "kernel"}, {2 * kStep, kStep, kStream, "gemm", "kernel"}});
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices.front().host_wait_ns, std::nullopt);
  EXPECT_THAT(report.launches, IsEmpty());
  EXPECT_THAT(TimelineMarkdown(report), HasSubstr("\n#### Launches\nNo launches are recorded.\n"));
  EXPECT_THAT(TimelineMarkdown(report), HasSubstr("Nothing to overlap: neither communication nor copies ran.\n"));
  EXPECT_THAT(TimelineJson(report), HasSubstr("\"host_wait_ns\":null"));
}

}  // namespace
}  // namespace kprof
