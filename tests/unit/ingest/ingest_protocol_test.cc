#include "daemon/ingest/channel/ingest_protocol.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace kprof {
namespace {

TrackRow FullTrack() {
  return {.id = 7,
          .kind = "gpu_stream",
          .name = "stream 7",
          .pid = "0",
          .tid = "7",
          .process = "python",
          .device = 0,
          .stream = 7,
          .sort_index = -5};
}

EncodedSegment FullSegment() {
  EncodedSegment segment;
  segment.kind = EventKind::kFlow;
  segment.rows = 3;
  segment.min_time_ns = -5;
  segment.max_time_ns = 9;
  segment.max_end_ns = 12;
  segment.columns = {{kNoArgs, 1, 3, EncodeColumn(std::vector<int64_t>{-5, 2, 9})},
                     {2, 0, 1, EncodeColumn(std::vector<int64_t>{4})}};
  return segment;
}

TEST(IngestProtocol, FramesComeOneByOneAsTheyAreWhole) {
  std::string bytes;
  AppendFrame(IngestFrame::kText, "first", bytes);
  AppendFrame(IngestFrame::kDone, "", bytes);
  const size_t first = kFrameHeadBytes + 5;
  for (size_t size = 0; size <= bytes.size(); ++size) {
    std::string_view rest = std::string_view(bytes).substr(0, size);
    const std::optional<ReceivedFrame> frame = *TakeFrame(rest);
    ASSERT_EQ(frame.has_value(), size >= first) << size;
    if (!frame) {
      EXPECT_EQ(rest.size(), size);
      continue;
    }
    EXPECT_EQ(frame->type, IngestFrame::kText);
    EXPECT_EQ(frame->message, "first");
    EXPECT_EQ(rest.size(), size - first);
    const std::optional<ReceivedFrame> second = *TakeFrame(rest);
    EXPECT_EQ(second.has_value(), size == bytes.size());
  }
}

TEST(IngestProtocol, HowFarASourceIsComesAsItWas) {
  for (const SourceGrowth::State grown : {SourceGrowth::State{7, false}, SourceGrowth::State{1 << 30, true}}) {
    EXPECT_EQ(DecodeGrown(EncodeGrown(grown)), grown);
    EXPECT_EQ(DecodeGrown(EncodeGrown(grown) + "x"), std::nullopt);
  }
  EXPECT_TRUE(DecodeIngestRequest(EncodeIngestRequest({.name = "a", .format = "b", .grows = true}))->grows);
}

SideTable FullSideTable() {
  return {"lines", {{"file", SideType::kText, ""}, {"samples", SideType::kInteger, "count"}}};
}

EncodedSideSegment FullSideSegment() {
  SideRows rows(FullSideTable());
  for (const int64_t line : {3, 7, 9}) rows.Add(std::vector<int64_t>{kNoValue, line});
  return EncodeSideRows(5, rows, 0, 3);
}

TEST(IngestProtocol, SideTablesComeAsTheyWere) {
  const std::string table = EncodeSideTable(5, FullSideTable());
  ASSERT_TRUE(DecodeSideTable(table));
  EXPECT_EQ(DecodeSideTable(table)->id, 5u);
  EXPECT_EQ(DecodeSideTable(table)->table, FullSideTable());
  const std::string segment = EncodeSideSegment(FullSideSegment());
  ASSERT_TRUE(DecodeSideSegment(segment));
  EXPECT_EQ(EncodeSideSegment(*DecodeSideSegment(segment)), segment);
  for (size_t size = 0; size < table.size(); ++size) EXPECT_FALSE(DecodeSideTable(table.substr(0, size))) << size;
  for (size_t size = 0; size < segment.size(); ++size) EXPECT_FALSE(DecodeSideSegment(segment.substr(0, size))) << size;
}

TEST(IngestProtocol, SideTablesThatNoPartMayHaveAreNone) {
  const auto decodes = [](const std::function<void(SideTable&)>& change) {
    SideTable table = FullSideTable();
    change(table);
    return DecodeSideTable(EncodeSideTable(0, table)).has_value();
  };
  EXPECT_TRUE(decodes([](SideTable&) {}));
  EXPECT_FALSE(decodes([](SideTable& t) { t.name = "slice; DROP"; }));
  EXPECT_FALSE(decodes([](SideTable& t) { t.columns.clear(); }));
  EXPECT_FALSE(decodes([](SideTable& t) { t.columns[1].name = "file"; }));
  EXPECT_FALSE(decodes([](SideTable& t) { t.columns[1].type = static_cast<SideType>(9); }));
  EXPECT_FALSE(decodes([](SideTable& t) { t.columns.resize(kMostSideColumns + 1, t.columns[0]); }));
  const auto segment_decodes = [](const std::function<void(EncodedSideSegment&)>& change) {
    EncodedSideSegment segment = FullSideSegment();
    change(segment);
    return DecodeSideSegment(EncodeSideSegment(segment)).has_value();
  };
  EXPECT_TRUE(segment_decodes([](EncodedSideSegment&) {}));
  EXPECT_FALSE(segment_decodes([](EncodedSideSegment& s) { s.table = kMostSideTables; }));
  EXPECT_FALSE(segment_decodes([](EncodedSideSegment& s) { s.rows = 0; }));
  EXPECT_FALSE(segment_decodes([](EncodedSideSegment& s) { s.rows = kMaxSegmentRows + 1; }));
  EXPECT_FALSE(segment_decodes([](EncodedSideSegment& s) { s.columns[0].codec = static_cast<ColumnCodec>(77); }));
}

TEST(IngestProtocol, AFrameLargerThanMayBeIsRefusedBeforeItIsThere) {
  const uint32_t size = kMostFrameBytes + 1;
  std::string bytes(kFrameHeadBytes, '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  std::string_view rest = bytes;
  EXPECT_EQ(TakeFrame(rest).status().code(), ErrorCode::kStorageBroken);
}

TEST(IngestProtocol, FactsOfASourceAreReadAsTheyWereSentAndWithinTheirLimits) {
  const SourceFacts facts{.rank = 3,
                          .world_size = std::nullopt,
                          .job = "7",
                          .backend = "nccl",
                          .library = "2.21",
                          .groups = {{.name = "0", .kind = "tp", .ranks = {0, 3, 5}}},
                          .start_unix_ns = 9,
                          .start_of_quarter_ns = 10,
                          .joins_trace = true};
  EXPECT_EQ(DecodeSourceFacts(EncodeSourceFacts(facts)), facts);
  EXPECT_EQ(DecodeSourceFacts(EncodeSourceFacts({})), SourceFacts());
  EXPECT_FALSE(DecodeSourceFacts(""));
  const auto decodes = [&](const std::function<void(SourceFacts&)>& change) {
    SourceFacts changed = facts;
    change(changed);
    return DecodeSourceFacts(EncodeSourceFacts(changed)).has_value();
  };
  EXPECT_FALSE(decodes([](SourceFacts& f) { f.job = std::string(kMostFactTextBytes + 1, 'x'); }));
  EXPECT_FALSE(decodes([](SourceFacts& f) { f.groups[0].kind = std::string(kMostFactTextBytes + 1, 'x'); }));
  EXPECT_FALSE(decodes([](SourceFacts& f) { f.groups.resize(kMostFactGroups + 1); }));
  EXPECT_FALSE(decodes([](SourceFacts& f) { f.groups[0].ranks = {5, 3}; }));
  EXPECT_FALSE(decodes([](SourceFacts& f) { f.start_unix_ns = -1; }));
  EXPECT_FALSE(decodes([](SourceFacts& f) { f.start_of_quarter_ns = kQuarterNs; }));
  EXPECT_FALSE(decodes([](SourceFacts& f) { f.groups[0].ranks.resize(kMostFactRanks + 1); }));
}

TEST(IngestProtocol, MessagesAreReadAsTheyWereSent) {
  const std::optional<IngestRequest> request = DecodeIngestRequest(EncodeIngestRequest(
      {.name = "a", .format = "b", .threads = 3, .unpacked_bytes = 5, .memory_bytes = 6, .cpu_seconds = 7}));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->name + request->format, "ab");
  EXPECT_EQ(request->threads, 3u);
  EXPECT_EQ(request->unpacked_bytes, 5);
  EXPECT_EQ(request->memory_bytes, 6);
  EXPECT_EQ(request->cpu_seconds, 7);

  const std::string odd("a\0\xff", 3);
  EXPECT_EQ(DecodeString(EncodeString(UINT32_MAX, odd))->text, odd);
  EXPECT_EQ(DecodeString(EncodeString(UINT32_MAX, odd))->id, UINT32_MAX);
  EXPECT_EQ(DecodeTrack(EncodeTrack(FullTrack())), FullTrack());
  EXPECT_EQ(DecodeTrack(EncodeTrack(TrackRow())), TrackRow());
  EXPECT_EQ(DecodeText(EncodeText("name", odd))->text, odd);
  EXPECT_EQ(DecodeText(EncodeText("name", odd))->name, "name");
  EXPECT_EQ(DecodeInteger(EncodeInteger("name", INT64_MIN))->value, INT64_MIN);
  EXPECT_EQ(DecodeInteger(EncodeInteger("name", 1))->name, "name");
  EXPECT_EQ(DecodeProgress(EncodeProgress({5, 6}))->bytes, 5);
  EXPECT_EQ(DecodeProgress(EncodeProgress({5, 6}))->events, 6);
  const std::optional<IngestDone> done = DecodeDone(EncodeDone({"chrome", "hash", {"a", "b"}}));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->format + done->hash, "chromehash");
  EXPECT_EQ(done->warnings, (std::vector<std::string>{"a", "b"}));
}

TEST(IngestProtocol, ShapesAreReadAsTheyWereSent) {
  const ArgShape shape = {{3, ArgType::kNull, true}, {4, ArgType::kCorrelation, false}};
  const std::optional<NumberedShape> read = DecodeShape(EncodeShape(9, shape));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, 9u);
  ASSERT_EQ(read->shape.size(), 2u);
  EXPECT_TRUE(read->shape[0].key == 3 && read->shape[0].type == ArgType::kNull && read->shape[0].of_event);
  EXPECT_TRUE(read->shape[1].key == 4 && read->shape[1].type == ArgType::kCorrelation && !read->shape[1].of_event);
  EXPECT_TRUE(DecodeShape(EncodeShape(0, {})));
}

TEST(IngestProtocol, SegmentsAreReadAsTheyWereSent) {
  const EncodedSegment sent = FullSegment();
  const std::optional<EncodedSegment> read = DecodeSegment(EncodeSegment(sent));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, sent.kind);
  EXPECT_EQ(read->rows, 3u);
  EXPECT_EQ(read->min_time_ns, -5);
  EXPECT_EQ(read->max_time_ns, 9);
  EXPECT_EQ(read->max_end_ns, 12);
  ASSERT_EQ(read->columns.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->columns[i].shape, sent.columns[i].shape);
    EXPECT_EQ(read->columns[i].column, sent.columns[i].column);
    EXPECT_EQ(read->columns[i].rows, sent.columns[i].rows);
    EXPECT_EQ(read->columns[i].encoded.codec, sent.columns[i].encoded.codec);
    EXPECT_EQ(read->columns[i].encoded.min, sent.columns[i].encoded.min);
    EXPECT_EQ(read->columns[i].encoded.bytes, sent.columns[i].encoded.bytes);
  }
}

TEST(IngestProtocol, FailuresAreReadAsTheyWereSent) {
  const Status sent = Fail(ErrorCode::kBadInput, "read it", "it is none", "give another");
  const std::optional<Status> read = DecodeFailure(EncodeFailure(sent));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->code(), ErrorCode::kBadInput);
  EXPECT_EQ(read->ToString(), sent.ToString());
}

TEST(IngestProtocol, WhatIsCutOrHasMoreIsNoMessage) {
  struct Case {
    std::string message;
    std::function<bool(std::string_view)> decodes;
  };
  const std::vector<Case> cases = {
      {EncodeIngestRequest({.name = "a", .format = "b"}), [](auto m) { return DecodeIngestRequest(m).has_value(); }},
      {EncodeString(1, "text"), [](auto m) { return DecodeString(m).has_value(); }},
      {EncodeTrack(FullTrack()), [](auto m) { return DecodeTrack(m).has_value(); }},
      {EncodeShape(1, {{3, ArgType::kNull, true}}), [](auto m) { return DecodeShape(m).has_value(); }},
      {EncodeSegment(FullSegment()), [](auto m) { return DecodeSegment(m).has_value(); }},
      {EncodeText("a", "b"), [](auto m) { return DecodeText(m).has_value(); }},
      {EncodeInteger("a", 1), [](auto m) { return DecodeInteger(m).has_value(); }},
      {EncodeProgress({1, 2}), [](auto m) { return DecodeProgress(m).has_value(); }},
      {EncodeDone({"a", "b", {"c"}}), [](auto m) { return DecodeDone(m).has_value(); }},
      {EncodeFailure(Fail(ErrorCode::kBadInput, "a", "b")), [](auto m) { return DecodeFailure(m).has_value(); }},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_TRUE(cases[i].decodes(cases[i].message)) << i;
    EXPECT_FALSE(cases[i].decodes(cases[i].message + "x")) << i;
    for (size_t size = 0; size < cases[i].message.size(); ++size) {
      EXPECT_FALSE(cases[i].decodes(std::string_view(cases[i].message).substr(0, size))) << i << " " << size;
    }
  }
}

TEST(IngestProtocol, ASegmentThatCannotBeIsNone) {
  const auto decodes = [](const std::function<void(EncodedSegment&)>& change) {
    EncodedSegment segment = FullSegment();
    change(segment);
    return DecodeSegment(EncodeSegment(segment)).has_value();
  };
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.kind = static_cast<EventKind>(0); }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.kind = static_cast<EventKind>(kEventKinds + 1); }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.rows = 0; }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.rows = kMaxSegmentRows + 1; }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.columns[0].rows = 0; }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.columns[0].rows = 4; }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.columns[0].shape = 1 << 20; }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.columns[0].column = 1 << 10; }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.columns[0].encoded.codec = static_cast<ColumnCodec>(0); }));
  EXPECT_FALSE(decodes([](EncodedSegment& s) { s.columns[0].encoded.codec = static_cast<ColumnCodec>(7); }));
}

TEST(IngestProtocol, AShapeOfATypeThatThereIsNotIsNone) {
  EXPECT_FALSE(DecodeShape(EncodeShape(1, {{3, static_cast<ArgType>(0)}})));
  EXPECT_FALSE(DecodeShape(EncodeShape(1, {{3, static_cast<ArgType>(10)}})));
}

TEST(IngestProtocol, AFailureThatIsNoneIsNone) {
  EXPECT_FALSE(DecodeFailure(EncodeFailure(OkStatus())));
  EXPECT_FALSE(DecodeFailure(""));
}

}  // namespace
}  // namespace kprof
