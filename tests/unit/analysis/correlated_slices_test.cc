#include "daemon/analysis/operators/correlated_slices.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

using Rows = std::set<std::pair<int64_t, int64_t>>;

// All of them, in windows of that many; each once, and as its slices are.
Rows Join(const TracePart& part, const CorrelationRequest& request, size_t window_size) {
  const std::vector<SampleRow> rows = RowsOf(*part.reader);
  const auto joined = CorrelatedSlices::Make(part, part, request);
  EXPECT_TRUE(joined.ok()) << joined.status().ToString();
  Rows found;
  std::vector<CorrelatedPair> window;
  for (;;) {
    const Status status = (*joined)->Next(window_size, {}, window);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (window.empty()) return found;
    EXPECT_LE(window.size(), window_size);
    for (const CorrelatedPair& pair : window) {
      for (const JoinedSlice& slice : {pair.from, pair.to}) {
        const SampleSlice& expected = rows[static_cast<size_t>(slice.row)].slice;
        EXPECT_EQ(std::tie(expected.time, expected.duration, expected.correlation),
                  std::tie(slice.time_ns, slice.duration_ns, pair.correlation));
        EXPECT_EQ(expected.track, int64_t{slice.track});
        EXPECT_EQ(expected.name, *part.reader->ReadString(slice.name));
      }
      EXPECT_TRUE(found.emplace(pair.from.row, pair.to.row).second);
    }
  }
}

template <typename IsFrom, typename IsTo>
Rows ExpectedPairs(PartReader& reader, const IsFrom& is_from, const IsTo& is_to) {
  const std::vector<SampleRow> rows = RowsOf(reader);
  Rows expected;
  for (const SampleRow& from : rows) {
    for (const SampleRow& to : rows) {
      if (from.slice.correlation != kNoValue && from.slice.correlation == to.slice.correlation && from.row != to.row &&
          is_from(from.slice) && is_to(to.slice)) {
        expected.emplace(from.row, to.row);
      }
    }
  }
  return expected;
}

TEST(CorrelatedSlices, JoinEachLaunchWithWhatItStarted) {
  for (const size_t batches : {1, 3}) {
    SampleTrace trace;
    PartReader& reader = trace.Add(RandomSlices(2'000, 1), 100, batches);
    CorrelationRequest request;
    request.from.track_kinds = {"cpu_thread"};
    request.to.track_kinds = {"gpu_stream"};
    const Rows expected = ExpectedPairs(
        reader, [](const SampleSlice& slice) { return slice.track < 2; },
        [](const SampleSlice& slice) { return slice.track >= 2; });
    EXPECT_GT(expected.size(), 50u);
    for (const size_t window : {size_t{1}, size_t{7}, size_t{100'000}}) {
      EXPECT_EQ(Join(trace.part(0), request, window), expected);
    }
  }
}

TEST(CorrelatedSlices, JoinWhatBothSidesHaveButNothingWithItself) {
  SampleTrace trace;
  PartReader& reader = trace.Add(RandomSlices(600, 2), 50);
  const auto all = [](const SampleSlice&) { return true; };
  EXPECT_EQ(Join(trace.part(0), {}, 64), ExpectedPairs(reader, all, all));
}

// One launch of a graph.
TEST(CorrelatedSlices, ComeInWindowsWhereHundredsHaveTheSameCorrelation) {
  std::vector<SampleSlice> slices;
  for (int64_t i = 0; i < 400; ++i) slices.push_back({i, 5, i < 2 ? 0 : 2, "k", "kernel", 7});
  SampleTrace trace;
  trace.Add(slices, 90);
  CorrelationRequest request;
  request.from.track_kinds = {"cpu_thread"};
  request.to.track_kinds = {"gpu_stream"};
  EXPECT_EQ(Join(trace.part(0), request, 64).size(), 2u * 398);
}

TEST(CorrelatedSlices, AskForTheirMemoryAndGiveItBack) {
  SampleTrace trace;
  trace.Add(RandomSlices(2'000, 1), 100);
  int64_t taken = 0;
  int64_t most = 0;
  CorrelationRequest request;
  request.take_memory = [&](int64_t bytes) {
    taken += bytes;
    most = std::max(most, taken);
    return OkStatus();
  };
  Join(trace.part(0), request, 1'000);
  EXPECT_EQ(taken, 0);
  EXPECT_GT(most, 0);
  request.take_memory = [](int64_t) { return Fail(ErrorCode::kUsage, "take", "there is no more"); };
  std::vector<CorrelatedPair> window;
  EXPECT_EQ((*CorrelatedSlices::Make(trace.part(0), trace.part(0), request))->Next(10, {}, window).code(),
            ErrorCode::kUsage);
}

TEST(CorrelatedSlices, EndWhenTheyMust) {
  SampleTrace trace;
  trace.Add(RandomSlices(2'000, 1), 100);
  const auto joined = CorrelatedSlices::Make(trace.part(0), trace.part(0), {});
  std::vector<CorrelatedPair> window;
  EXPECT_EQ((*joined)->Next(10, StopSignal([] { return true; }), window).code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kprof
