#include "daemon/analysis/functions/device_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/analysis/functions/device_scope.h"
#include "tests/fakes/trace/made_part.h"
#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kDeviceTimes = 130'000;

class DeviceTimesTest : public testing::Test {
 protected:
  Result<std::vector<DeviceTimes>> Find(const std::map<std::string, std::string>& given) {
    std::vector<TracePart> parts(trace_.parts().begin(), trace_.parts().end());
    std::vector<std::string> runs(parts.size(), "r1");
    const AnalysisTraces traces(std::move(parts), std::move(runs));
    const auto options = AnalysisOptions::Read("test", {kTraceScope, kWindow}, given);
    EXPECT_TRUE(options.ok()) << options.status().ToString();
    AnalysisAnswer notes(traces);
    auto found = FindDeviceTimes(traces, *options, {}, notes);
    notes_ = notes.notes();
    return found;
  }

  SampleTrace trace_;
  std::vector<std::string> notes_;
};

// Names that the types tell apart, in categories of which some are no work.
std::vector<SampleSlice> TypedSlices(uint64_t seed) {
  const char* names[] = {"gemm", "ncclDevKernel", "Memcpy HtoD", "relu", "all_reduce_kernel"};
  const char* categories[] = {"kernel", "gpu_user_annotation", "gpu_memcpy", "cuda_sync", "kernel"};
  std::vector<SampleSlice> slices = RandomSlices(400, seed);
  for (size_t i = 0; i < slices.size(); ++i) {
    slices[i].name = names[i % 5];
    slices[i].category = categories[(i / 5) % 5];
  }
  return slices;
}

TEST_F(DeviceTimesTest, AreWhatCountingNanosecondsMakes) {
  trace_.Add(TypedSlices(1), 50, 1, 4);
  trace_.Add(TypedSlices(2), 50, 3);
  for (const bool in_a_stretch : {false, true}) {
    const int64_t from = in_a_stretch ? 20'000 : 0;
    const int64_t to = in_a_stretch ? 60'000 : kDeviceTimes;
    const auto found = in_a_stretch ? Find({{"from", "20000"}, {"to", "60000"}}) : Find({});
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    ASSERT_EQ(found->size(), 4u);
    for (const DeviceTimes& of : *found) {
      PartReader& reader = *trace_.part(of.part).reader;
      std::vector<unsigned> running(kDeviceTimes);
      int64_t first = kDeviceTimes;
      int64_t last = 0;
      for (const SampleRow& row : RowsOf(reader)) {
        first = std::min(first, row.slice.time);
        last = std::max(last, row.end());
        const TrackRow& track = reader.tracks()[static_cast<size_t>(row.slice.track)];
        const std::string& category = row.slice.category;
        if (track.device != of.device || category == "gpu_user_annotation" || category == "cuda_sync") continue;
        const auto type = static_cast<unsigned>(TypeOfKernel(row.slice.name));
        for (int64_t at = row.slice.time; at < row.end(); ++at) running[static_cast<size_t>(at)] |= 1u << type;
      }
      std::array<int64_t, 8> counted{};
      for (int64_t at = from; at < to; ++at) ++counted[running[static_cast<size_t>(at)]];
      const int64_t busy = to - from - counted[0];
      counted[0] = 0;
      EXPECT_EQ(of.at_once_ns, counted);
      EXPECT_EQ(of.busy_ns, busy);
      EXPECT_EQ(of.of(KernelType::kCompute), counted[1] + counted[3] + counted[5] + counted[7]);
      EXPECT_EQ(of.whole_ns, in_a_stretch ? to - from : last - first);
    }
  }
}

TEST_F(DeviceTimesTest, OneDeviceAlone) {
  trace_.Add(TypedSlices(1), 50);
  const auto all = Find({});
  const auto one = Find({{"device", "1"}});
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ(one->front().device, 1);
  EXPECT_EQ(one->front().at_once_ns, all->back().at_once_ns);
}

TEST_F(DeviceTimesTest, PartsWithoutWorkAreNamed) {
  trace_.Add(TypedSlices(1), 50, 1, 0);
  trace_.Add({}, 50, 1, 7);
  EXPECT_EQ(Find({})->size(), 2u);
  EXPECT_THAT(notes_, ElementsAre("no kernels in rank 7"));
}

// A host, a stream, and an operator with a stream, as Triton's are; times in ns.
class HtaTimesTest : public DeviceTimesTest {
 protected:
  void Slice(int64_t track, int64_t begin, int64_t end, const std::string& name, int64_t correlation = kNoValue) {
    std::vector<MadeArg> args;
    if (track != kHost) args.push_back(IntegerArg("stream", 7));
    if (correlation != kNoValue) args.push_back({"correlation", ArgType::kCorrelation, 0, {}});
    made_.Add(EventKind::kSlice, {.time_ns = begin,
                                  .duration_ns = end - begin,
                                  .track = track,
                                  .name = name,
                                  .category = track == kHost ? "cuda_runtime" : "kernel",
                                  .correlation = correlation,
                                  .args = std::move(args)});
  }
  Result<std::vector<DeviceTimes>> FindHta() {
    made_.AddTrack({.kind = "cpu_thread", .name = "main"});
    made_.AddTrack({.kind = "gpu_stream", .name = "stream 7", .device = 2, .stream = 7});
    made_.AddTrack({.kind = "cpu_thread", .name = "triton"});
    const std::string path = folder_ / "made.trace.db";
    made_.Write(path);
    Result<std::unique_ptr<PartReader>> reader = PartReader::Open(path, cache_);
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    reader_ = *std::move(reader);
    const AnalysisTraces traces({PartOf(*reader_)}, {"r1"});
    AnalysisAnswer notes(traces);
    auto found =
        FindDeviceTimes(traces, *AnalysisOptions::Read("test", {kTraceScope, kWindow}, {{"window", "hta"}}), {}, notes);
    notes_ = notes.notes();
    return found;
  }

  static constexpr int64_t kHost = 0, kStream = 1, kTriton = 2;
  TemporaryFolder folder_;
  ColumnCache cache_{1 << 20};
  MadePart made_;
  std::unique_ptr<PartReader> reader_;
};

TEST_F(HtaTimesTest, TimesAreWholeMicrosecondsOfTheSource) {
  made_.SetFact("base_source_ns", "1000000000250");  // our 0 is a quarter of a microsecond after one of the source's
  Slice(kStream, 750, 10'000, "gemm");               // 1,000 to 10,250 there: 1,000 to 10,000
  Slice(kTriton, 20'000, 23'500, "triton_op");       // 20,250 to 23,750: 21,000 to 23,000
  const auto found = FindHta();
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().busy_ns, 9'000 + 2'000);
  EXPECT_EQ(found->front().whole_ns, 22'000);
  EXPECT_EQ(found->front().device, 2);
  EXPECT_EQ(found->front().slices, 2);
}

TEST_F(HtaTimesTest, WhatIsShorterThanAMicrosecondMayCountLessThanNothing) {
  Slice(kStream, 1'000, 5'000, "gemm");
  Slice(kStream, 7'000, 9'000, "Memcpy HtoD");
  Slice(kStream, 10'100, 10'900, "Memset (Device)");  // 11,000 to 10,000
  const auto found = FindHta();
  EXPECT_EQ(found->front().busy_ns, 4'000 + 2'000 - 1'000);
  EXPECT_EQ(found->front().of(KernelType::kMemory), 2'000 - 1'000);
  EXPECT_EQ(found->front().at_once_ns[4], 2'000);  // as HTA's by_type has it
  EXPECT_FALSE(found->front().is_corrected);
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(HtaTimesTest, WhereThatMakesNoSenseItCountsAsNothing) {
  Slice(kStream, 1'000, 5'000, "gemm");
  Slice(kStream, 10'100, 10'900, "Memset (Device)");
  const auto found = FindHta();
  EXPECT_EQ(found->front().busy_ns, 4'000);
  EXPECT_EQ(found->front().of(KernelType::kMemory), 0);
  EXPECT_TRUE(found->front().is_corrected);
}

TEST_F(HtaTimesTest, OfSeveralStepsTheLastIsLeftOut) {
  Slice(kHost, 0, 10'000, "ProfilerStep#4");
  Slice(kHost, 10'000, 20'000, "ProfilerStep#5");
  Slice(kHost, 1'000, 2'000, "cudaLaunchKernel", 1);
  Slice(kHost, 11'000, 12'000, "cudaLaunchKernel", 2);
  Slice(kStream, 12'000, 15'000, "late_gemm", 1);  // runs in the last step, was launched before
  Slice(kStream, 15'000, 19'000, "gemm", 2);
  Slice(kStream, 19'000, 20'000, "nobody_launched_it");
  const auto found = FindHta();
  EXPECT_EQ(found->front().slices, 1);
  EXPECT_EQ(found->front().busy_ns, 3'000);
}

TEST_F(HtaTimesTest, ATraceWithoutStreamArgumentsHasTheWorkOnItsStreams) {
  made_.Add(EventKind::kSlice,
            {.time_ns = 1'500, .duration_ns = 2'000, .track = kStream, .name = "gemm", .category = "kernel"});
  EXPECT_EQ(FindHta()->front().busy_ns, 1'000);
}

TEST_F(DeviceTimesTest, OfAStepTheTimeOfTheHostsSlice) {
  std::vector<SampleSlice> slices = TypedSlices(1);
  slices.push_back({30'000, 20'000, 0, "ProfilerStep#3", "user_annotation"});
  slices.push_back({31'000, 90'000, 2, "ProfilerStep#3", "gpu_user_annotation"});
  trace_.Add(slices, 50, 1, 3);
  trace_.Add(TypedSlices(2), 50, 1, 9);
  const auto of_step = Find({{"step", "3"}});
  ASSERT_TRUE(of_step.ok()) << of_step.status().ToString();
  ASSERT_EQ(of_step->size(), 2u);
  EXPECT_EQ(of_step->front().whole_ns, 20'000);
  EXPECT_THAT(notes_, ElementsAre("no kernels in the time that is asked for in rank 9"));
  const auto of_stretch = Find({{"from", "30000"}, {"to", "50000"}});
  EXPECT_EQ(of_step->front().at_once_ns, of_stretch->front().at_once_ns);
  const Status failure = Find({{"step", "4"}}).status();
  EXPECT_EQ(failure.code(), ErrorCode::kUsage);
  EXPECT_EQ(failure.remedy(), "their steps are 3 to 3");
}

TEST_F(DeviceTimesTest, FailForADeviceThatNoTraceHas) {
  trace_.Add(TypedSlices(1), 50, 1, 4);
  const auto found = Find({{"device", "99"}});
  EXPECT_EQ(found.status().code(), ErrorCode::kUsage);
  EXPECT_THAT(found.status().why(), testing::HasSubstr("no such device"));
  EXPECT_THAT(found.status().remedy(), testing::StartsWith("there are "));
}

}  // namespace
}  // namespace kprof
