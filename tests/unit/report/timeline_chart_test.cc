#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "daemon/analysis/report/timeline_lanes.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class TimelineTest : public testing::Test {
 protected:
  // The parts' readers live as long as the test.
  void AddPart(const std::vector<SampleSlice>& slices, std::optional<int64_t> rank = {}, int streams = 2) {
    SamplePart part(folder_.path() + "/" + std::to_string(readers_.size()) + ".trace.db");
    part.AddTrack("cpu_thread", "main");
    part.AddTrack("cpu_thread", "loader");
    for (int64_t stream = 0; stream < streams; ++stream) {
      part.AddTrack("gpu_stream", "stream", 0, stream + 7);
    }
    part.AddSlices(slices, 100);
    readers_.push_back(part.Finish(cache_));
    TracePart& open = parts_.emplace_back();
    open.reader = readers_.back().get();
    open.rank = rank;
  }

  Timeline Read() {
    const AnalysisTraces traces(parts_, std::vector<std::string>(parts_.size(), "01jd"));
    Result<Timeline> timeline = ReadTimeline(traces, StopSignal());
    EXPECT_TRUE(timeline.ok()) << timeline.status().ToString();
    return timeline.ok() ? *std::move(timeline) : Timeline();
  }

  static double ShareOf(const TimelineLane& lane, LaneWork work, size_t bin) {
    const std::vector<float>& shares = lane.shares[static_cast<size_t>(work)];
    return shares.empty() ? 0 : static_cast<double>(shares[bin]);
  }

  TemporaryFolder folder_;
  ColumnCache cache_{int64_t{8} << 20};
  std::vector<std::unique_ptr<PartReader>> readers_;
  std::vector<TracePart> parts_;
};

constexpr int64_t kBin = 1000;  // ns, of a trace of 800 bins
constexpr int64_t kMain = 0;
constexpr int64_t kStream7 = 2;
constexpr int64_t kStream8 = 3;

TEST_F(TimelineTest, ABinHasTheShareOfTheTimeThatItsLaneWasBusy) {
  AddPart({{0, 100 * kBin, kStream7, "gemm", "kernel"},
           {100 * kBin, kBin / 4, kStream7, "ncclDevKernel_AllReduce_Sum_f32", "kernel"},
           {700 * kBin, 100 * kBin, kStream8, "Memcpy HtoD", "gpu_memcpy"}});
  const Timeline timeline = Read();
  ASSERT_EQ(timeline.panels.size(), 1U);
  const TimelinePanel& panel = timeline.panels.front();
  EXPECT_EQ(panel.whole, (Interval{0, 800 * kBin}));
  ASSERT_EQ(panel.lanes.size(), 2U);
  const TimelineLane& first = panel.lanes[0];
  EXPECT_EQ(first.name, "GPU 0 stream 7");
  EXPECT_EQ(first.busy_ns, 100 * kBin + kBin / 4);
  EXPECT_NEAR(ShareOf(first, LaneWork::kCompute, 99), 1, 1e-5);
  EXPECT_NEAR(ShareOf(first, LaneWork::kCommunication, 100), 0.25, 1e-5);
  EXPECT_NEAR(ShareOf(first, LaneWork::kCompute, 100), 0, 1e-5);
  EXPECT_NEAR(ShareOf(panel.lanes[1], LaneWork::kMemory, 700), 1, 1e-5);
  ASSERT_EQ(first.boxes.size(), 1U);
  EXPECT_EQ(first.boxes.front().name, "gemm");
}

TEST_F(TimelineTest, SlicesAtOnceFillABinNoMoreThanOnce) {
  AddPart({{0, 800 * kBin, kStream7, "gemm", "kernel"},
           {0, 800 * kBin, kStream7, "relu", "kernel"},
           {0, 800 * kBin, kStream7, "Memset", "gpu_memset"}});
  const TimelineLane lane = Read().panels.at(0).lanes.at(0);
  EXPECT_EQ(lane.busy_ns, 800 * kBin);
  EXPECT_NEAR(ShareOf(lane, LaneWork::kCompute, 5) + ShareOf(lane, LaneWork::kMemory, 5), 1, 1e-5);
}

TEST_F(TimelineTest, OfThreadsThoseThatCalledTheRuntimeAreThere) {
  AddPart({{0, 800 * kBin, kMain, "train", "user_annotation"},
           {0, 100 * kBin, kMain, "cudaLaunchKernel", "cuda_runtime", 1},
           {100 * kBin, 300 * kBin, kMain, "cudaDeviceSynchronize", "cuda_runtime"},
           {0, 700 * kBin, 1, "read", "python_function"},
           {50 * kBin, 300 * kBin, kStream7, "gemm", "kernel", 1}});
  const TimelinePanel panel = Read().panels.at(0);
  ASSERT_EQ(panel.lanes.size(), 2U);
  const TimelineLane& main = panel.lanes[1];
  EXPECT_TRUE(main.is_host);
  EXPECT_EQ(main.name, "main");
  EXPECT_NEAR(ShareOf(main, LaneWork::kCall, 50), 1, 1e-5);
  EXPECT_NEAR(ShareOf(main, LaneWork::kWait, 200), 1, 1e-5);
  EXPECT_NEAR(ShareOf(main, LaneWork::kHost, 200), 0, 1e-5);
  EXPECT_NEAR(ShareOf(main, LaneWork::kHost, 600), 1, 1e-5);
}

TEST_F(TimelineTest, RangesLieBelowThoseAroundThem) {
  AddPart({{0, 800 * kBin, kMain, "train", "user_annotation"},
           {0, 300 * kBin, kMain, "forward", "user_annotation"},
           {400 * kBin, 300 * kBin, kMain, "backward", "user_annotation"},
           {0, 100 * kBin, kStream7, "gemm", "kernel"}});
  std::vector<std::string> rows(3);
  const TimelinePanel panel = Read().panels.at(0);
  for (const TimelineBox& range : panel.ranges) rows.at(range.row) += range.name + " ";
  if (panel.steps.empty()) {
    EXPECT_THAT(rows, ElementsAre("train ", "forward backward ", ""));
  } else {
    EXPECT_EQ(panel.steps.front().name, "train");
    EXPECT_THAT(rows, ElementsAre("forward backward ", "", ""));
  }
}

TEST_F(TimelineTest, StepsThatAreTooManyAreOneBox) {
  std::vector<SampleSlice> slices;
  for (int64_t i = 0; i < 200; ++i) {
    slices.push_back({i * 100, 100, kMain, "ProfilerStep#" + std::to_string(i), "user_annotation"});
    slices.push_back({i * 100, 50, kStream7, "gemm", "kernel"});
  }
  AddPart(slices);
  const TimelinePanel panel = Read().panels.at(0);
  ASSERT_EQ(panel.steps.size(), 1U);
  EXPECT_EQ(panel.steps.front().name, "200 steps");
  EXPECT_EQ(panel.steps.front().length_ns(), 20'000);
}

TEST_F(TimelineTest, EachRankHasAPanel) {
  for (int64_t rank = 0; rank < 10; ++rank) AddPart({{0, 100, kStream7, "gemm", "kernel"}}, rank);
  const Timeline timeline = Read();
  EXPECT_EQ(timeline.panels.size() + timeline.panels_left_out, 10U);
  EXPECT_EQ(timeline.panels.at(1).name, "rank 1");
  const std::string picture = DrawTimeline(timeline, "of ranks");
  EXPECT_THAT(picture, HasSubstr(">rank 1</text>"));
  EXPECT_THAT(picture, HasSubstr("2 more parts are not shown."));
}

TEST_F(TimelineTest, APartWithoutWorkIsNotThere) {
  AddPart({});
  EXPECT_THAT(Read().panels, IsEmpty());
}

TEST_F(TimelineTest, ThePictureNamesLanesUnitsAndShares) {
  AddPart({{0, 400 * kBin, kStream7, "gemm<\"a&b\">(float*)", "kernel"},
           {400 * kBin, 400 * kBin, kStream8, "x", "kernel"}});
  const std::string picture = DrawTimeline(Read(), "mla <v4>");
  EXPECT_THAT(picture, StartsWith("<svg "));
  EXPECT_THAT(picture, EndsWith("</svg>\n"));
  EXPECT_THAT(picture, HasSubstr("Timeline: mla &lt;v4&gt;"));
  EXPECT_THAT(picture, HasSubstr("GPU 0 stream 7</text>"));
  EXPECT_THAT(picture, HasSubstr("<title>gemm&lt;&quot;a&amp;b&quot;&gt;, 400.00 us</title>"));
  EXPECT_THAT(picture, HasSubstr(">50.0 %</text>"));
  EXPECT_THAT(picture, HasSubstr("time from the first slice (us)</text>"));
  EXPECT_THAT(picture, HasSubstr("compute</text>"));
  EXPECT_THAT(picture, Not(HasSubstr("communication</text>")));
}

TEST_F(TimelineTest, TimesBeyondAllMeasureAreDrawn) {
  constexpr int64_t kFar = int64_t{1} << 61;
  AddPart({{-kFar, 2 * kFar - 1, kStream7, "gemm", "kernel"},
           {-kFar, 3 * kFar - 1, kMain, "cudaLaunchKernel", "cuda_runtime"},
           {kFar, kFar - 1, kMain, "cudaDeviceSynchronize", "cuda_runtime"},
           {kFar, kNoValue, kStream8, "no end", "kernel"}});
  const std::string picture = DrawTimeline(Read(), "far");
  EXPECT_THAT(picture, HasSubstr("time from the first slice (s)"));
  EXPECT_THAT(picture, Not(HasSubstr("nan")));
  EXPECT_THAT(picture, Not(HasSubstr("inf")));
}

TEST_F(TimelineTest, MemoryIsAskedFor) {
  AddPart({{0, 100, kStream7, "gemm", "kernel"}});
  const TakeMemory none = [](int64_t) { return Fail(ErrorCode::kUsage, "draw", "too much", "ask for less"); };
  const AnalysisTraces traces(parts_, {"01jd"}, none);
  const Result<Timeline> timeline = ReadTimeline(traces, StopSignal());
  ASSERT_FALSE(timeline.ok());
  EXPECT_EQ(timeline.status().code(), ErrorCode::kUsage);
}

TEST_F(TimelineTest, ABusyTraceMakesABoundedPictureAndTheSameEachTime) {
  std::mt19937 random(7);
  std::vector<SampleSlice> slices;
  const std::vector<std::string> names = {"gemm_with_a_name_that_is_rather_long<float, 128, 256>",
                                          "ncclDevKernel_AllReduce", "Memcpy DtoH"};
  for (int64_t stream = 0; stream < 40; ++stream) {
    int64_t now = 0;
    while (now < 1'000'000) {
      const int64_t length = static_cast<int64_t>(random() % (stream % 4 == 0 ? 60'000 : 900)) + 1;
      slices.push_back({now, length, kStream7 + stream, names[random() % 3], "kernel"});
      now += length + static_cast<int64_t>(random() % 1500);
    }
  }
  AddPart(slices, {}, 40);
  const Timeline timeline = Read();
  EXPECT_EQ(timeline.panels.at(0).lanes.size(), 24U);
  EXPECT_EQ(timeline.panels.at(0).left_out.size(), 16U);
  const std::string picture = DrawTimeline(timeline, "busy");
  EXPECT_LE(picture.size(), size_t{300} << 10);
  EXPECT_THAT(picture, HasSubstr("not shown: GPU 0 stream "));
  EXPECT_THAT(picture, HasSubstr("; 12 more</text>"));
  EXPECT_EQ(picture, DrawTimeline(Read(), "busy"));
}

}  // namespace
}  // namespace kprof
