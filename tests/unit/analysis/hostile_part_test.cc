// What every operator does with parts whose values are anything: it answers, or fails with kStorageBroken.
#include <gtest/gtest.h>

#include <functional>

#include "daemon/analysis/operators/aggregate.h"
#include "daemon/analysis/operators/busy_time.h"
#include "daemon/analysis/operators/correlated_slices.h"
#include "daemon/analysis/operators/counter_tiles.h"
#include "daemon/analysis/operators/duration_histogram.h"
#include "daemon/analysis/operators/event_tiles.h"
#include "daemon/analysis/operators/self_time.h"
#include "storage/trace/format/column_codec.h"
#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

int64_t AnyValue(std::mt19937_64& random) {
  const int64_t ends[] = {
      INT64_MIN,           INT64_MIN + 1,    -1,  0,   1,  5, INT64_MAX, INT64_MAX - 1, int64_t{1} << 62,
      -(int64_t{1} << 62), int64_t{1} << 32, 's', 'f', 't'};
  return random() % 3 == 0 ? static_cast<int64_t>(random()) : ends[random() % std::size(ends)];
}

// A segment as no maker makes one. `broken` columns have any value, the others one that could be.
EncodedSegment AnySegment(EventKind kind, uint32_t rows, bool has_good_tracks, bool has_good_strings,
                          std::mt19937_64& random) {
  EncodedSegment segment;
  segment.kind = kind;
  segment.rows = rows;
  segment.min_time_ns = static_cast<int64_t>(random() % 1'000);
  segment.max_time_ns = segment.min_time_ns + static_cast<int64_t>(random() % 1'000);
  segment.max_end_ns = segment.max_time_ns + static_cast<int64_t>(random() % 1'000);
  std::vector<EventColumn> columns(ColumnsOf(kind).begin(), ColumnsOf(kind).end());
  if (kind == EventKind::kSlice) columns.push_back(EventColumn::kDepth);
  if (kind == EventKind::kFlow && columns.back() != EventColumn::kSlice) columns.push_back(EventColumn::kSlice);
  for (const EventColumn column : columns) {
    std::vector<int64_t> values;
    for (uint32_t row = 0; row < rows; ++row) {
      const bool is_track = column == EventColumn::kTrack && has_good_tracks;
      const bool is_string = (column == EventColumn::kName || column == EventColumn::kCategory) && has_good_strings;
      int64_t value = AnyValue(random);
      if (is_track) value = static_cast<int64_t>(random() % 6);
      if (is_string) value = static_cast<int64_t>(random() % 2);
      if (column == EventColumn::kShape) value = random() % 100 == 0 ? value : static_cast<int64_t>(random() % 2);
      if (column == EventColumn::kLevel) value = 5;
      values.push_back(value);
    }
    segment.columns.push_back({kNoArgs, static_cast<uint32_t>(column), rows, EncodeColumn(values)});
    if (random() % 10 == 0) segment.columns.back().encoded.max = 5;  // not what it says
  }
  return segment;
}

void AskAll(const TracePart& part) {
  const auto is_answer = [](const Status& status) {
    EXPECT_TRUE(status.ok() || status.code() == ErrorCode::kStorageBroken) << status.ToString();
  };
  const std::span<const TracePart> parts(&part, 1);
  EventFilter narrow;
  narrow.from_ns = -5;
  narrow.to_ns = INT64_MAX;
  narrow.categories = {"e"};
  narrow.least_duration_ns = INT64_MIN;
  for (const EventFilter& filter : {EventFilter(), narrow}) {
    for (const std::vector<GroupBy>& by :
         {std::vector<GroupBy>{}, std::vector{GroupBy::kName}, std::vector{GroupBy::kCategory, GroupBy::kTrack}}) {
      for (const bool durations : {true, false}) {
        AggregateRequest request{.filter = filter, .by = by, .durations = durations, .percentiles = {50, 99.9}};
        request.most_values = 30;
        is_answer(AggregateEvents(parts, request, {}).status());
      }
      is_answer(FindSelfTimes(parts, {.filter = filter, .by = by}, {}).status());
    }
    for (const BusyBy by : {BusyBy::kAll, BusyBy::kTrack}) {
      is_answer(FindBusyTimes(parts, {.filter = filter, .by = by, .most_gaps = 3}, {}).status());
      is_answer(FindOverlaps(parts, {.one = filter, .other = {}, .by = by}, {}).status());
    }
    is_answer(CountDurations(parts, {.filter = filter}, {}).status());
    is_answer(CountDurations(parts, {.filter = filter, .width_ns = 3, .first_ns = 1}, {}).status());
    std::vector<CorrelatedPair> pairs;
    const auto joined = CorrelatedSlices::Make(part, part, {.from = filter, .to = {}});
    is_answer(joined.status());
    if (joined.ok()) is_answer((*joined)->Next(1'000, {}, pairs));
  }
  for (const int pixels : {1, 7, 1'000}) {
    for (const int64_t to : {int64_t{900}, INT64_MAX}) {
      is_answer(MakeSliceTiles(*part.reader, {.from_ns = 0, .to_ns = to, .pixels = pixels, .tracks = {}}, {}).status());
      is_answer(MakeSliceTiles(*part.reader, {.from_ns = INT64_MIN, .to_ns = to, .pixels = pixels, .tracks = {}}, {})
                    .status());
      is_answer(
          MakeCounterTiles(*part.reader, {.from_ns = 0, .to_ns = to, .pixels = pixels, .tracks = {}}, {}).status());
      is_answer(
          MakeInstantTiles(*part.reader, {.from_ns = 0, .to_ns = to, .pixels = pixels, .tracks = {}}, {}).status());
    }
  }
}

TEST(HostilePart, IsAnsweredOrRefused) {
  SampleTrace trace;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    SamplePart part(trace.NewPath());
    AddSampleTracks(part);
    part.AddTrack("counter", "power");
    part.StringNumber("e");
    const auto bp = static_cast<uint32_t>(part.StringNumber("bp"));
    ASSERT_TRUE(part.writer().AddShape(1, {{bp, ArgType::kString, true}}).ok());
    const bool has_good_tracks = seed % 4 != 0;
    const bool has_good_strings = seed % 3 != 0;
    int64_t last = 0;
    for (const EventKind kind :
         {EventKind::kSlice, EventKind::kInstant, EventKind::kFlow, EventKind::kCounter, EventKind::kSummary,
          EventKind::kInstantSummary, EventKind::kCounterSummary, EventKind::kTotal}) {
      if (kind == EventKind::kTotal && seed % 2 == 0) continue;  // with them, sums are of nothing else
      for (int i = 0; i < 3; ++i) {
        EncodedSegment segment =
            AnySegment(kind, static_cast<uint32_t>(1 + random() % 200), has_good_tracks, has_good_strings, random);
        if (kind == EventKind::kSlice) {  // in order, so that their depths are left as they are
          segment.min_time_ns = last;
          segment.max_time_ns = last += 300;
          segment.max_end_ns = last;
        }
        ASSERT_TRUE(part.writer().AddSegment(segment).ok());
      }
    }
    trace.Take(part);
    AskAll(trace.parts().back());
  }
}

TEST(HostilePart, ATrackOrAStringThatIsNoneIsNamed) {
  SampleTrace trace;
  SamplePart part(trace.NewPath());
  AddSampleTracks(part);
  EventRows rows;
  for (const EventColumn column : ColumnsOf(EventKind::kSlice)) rows.of(column).push_back(0);
  rows.of(EventColumn::kName)[0] = 77;
  part.AddRows(EventKind::kSlice, rows, 10);
  PartReader& reader = trace.Take(part);
  AggregateRequest request{.by = {GroupBy::kName}};
  const Status status = AggregateEvents(trace.parts(), request, {}).status();
  EXPECT_EQ(status.code(), ErrorCode::kStorageBroken);
  EXPECT_NE(status.ToString().find(reader.path()), std::string::npos) << status.ToString();
  EXPECT_NE(status.ToString().find("77"), std::string::npos) << status.ToString();
}

}  // namespace
}  // namespace kprof
