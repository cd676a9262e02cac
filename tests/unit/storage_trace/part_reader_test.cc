#include "storage/trace/read/part_reader.h"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>

#include "storage/trace/format/part_schema.h"
#include "storage/trace/write/part_writer.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/checksum_function.h"
#include "tests/fakes/trace/read_part.h"
#include "tests/fakes/trace/sample_part.h"
#include "tests/fakes/trace/seal_part.h"

namespace kprof {
namespace {

using Values = std::vector<int64_t>;

class PartReaderTest : public testing::Test {
 protected:
  PartReaderTest() {
    const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, path_);
    const Status filled = FillSample(*writer);
    EXPECT_TRUE(filled.ok()) << filled.ToString();
    const Status finished = writer->Finish({}).status();
    EXPECT_TRUE(finished.ok()) << finished.ToString();
  }
  std::unique_ptr<PartReader> Open() { return *PartReader::Open(path_, cache_); }
  void ChangeUnseen(const std::string& sql) {
    Change(sql);
    SealPart(path_);
  }
  void Change(const std::string& sql) {
    Db db = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .wal = false});
    AddChecksumFunction(db.handle());
    const Status changed = db.Execute(("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF;" + sql).c_str());
    ASSERT_TRUE(changed.ok()) << changed.ToString();
  }
  // What the reader says of a part once this was done to it: at once, or when all of it is read. Its strings and tables
  // have right checksums all the same.
  std::string WhyRefused(const std::string& sql) {
    ChangeUnseen(sql);
    return WhyNotRead(sql);
  }
  std::string WhyNotRead(const std::string& sql) {
    const Status status = OpenAndRead();
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken) << sql << ": " << status.ToString();
    EXPECT_NE(status.ToString().find(path_), std::string::npos) << sql << ": " << status.ToString();
    return status.ToString();
  }
  Status OpenAndRead() {
    ASSIGN_OR_RETURN(const std::unique_ptr<PartReader> reader, PartReader::Open(path_, cache_));
    return ReadAll(*reader);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "rank0.trace.db";
  std::unique_ptr<Files> files_ = MakePosixFiles();
  ColumnCache cache_{1 << 20};
};

TEST_F(PartReaderTest, GivesBackFacts) {
  const std::unique_ptr<PartReader> reader = Open();
  EXPECT_EQ(reader->IntegerFact("base_unix_ns"), 1'800'000'000'000'000'000);
  EXPECT_EQ(reader->TextFact("clock"), "unix");
  EXPECT_EQ(reader->facts().at("complete"), "1");
}

TEST_F(PartReaderTest, AFactThatIsNotThereIsNone) {
  EXPECT_EQ(Open()->IntegerFact("nonsense"), std::nullopt);
  EXPECT_EQ(Open()->TextFact("nonsense"), std::nullopt);
}

TEST_F(PartReaderTest, AFactThatIsNoIntegerIsNone) {
  for (const char* value :
       {"'unix'", "''", "'12x'", "' 12'", "CAST(x'313200' AS TEXT)", "'99999999999999999999'", "1.5"}) {
    ChangeUnseen(std::string("INSERT OR REPLACE INTO fact VALUES ('odd', ") + value + ")");
    EXPECT_EQ(Open()->IntegerFact("odd"), std::nullopt) << value;
  }
}

TEST_F(PartReaderTest, GivesBackStringsByteByByte) {
  const std::unique_ptr<PartReader> reader = Open();
  const std::vector<std::string> strings = SampleStrings();
  for (size_t id = 0; id < strings.size(); ++id) EXPECT_EQ(*reader->ReadString(static_cast<int64_t>(id)), strings[id]);
}

TEST_F(PartReaderTest, AStringThatIsNotThereIsStorageBroken) {
  const std::unique_ptr<PartReader> reader = Open();
  for (const int64_t id : {int64_t{8}, int64_t{-1}, kNoValue}) {
    const Status status = reader->ReadString(id).status();
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken);
    EXPECT_NE(status.ToString().find("no string " + std::to_string(id)), std::string::npos) << status.ToString();
  }
}

TEST_F(PartReaderTest, FindsStringsByTheirBytes) {
  const std::unique_ptr<PartReader> reader = Open();
  const std::vector<std::string> strings = SampleStrings();
  for (size_t id = 0; id < strings.size(); ++id) EXPECT_EQ(*reader->FindString(strings[id]), static_cast<int64_t>(id));
  EXPECT_EQ(*reader->FindString("a"), std::nullopt);
  EXPECT_EQ(*reader->FindString("GEMM"), std::nullopt);
}

TEST_F(PartReaderTest, ShowsAllStrings) {
  std::vector<std::string> seen;
  const Status status = Open()->ForEachString([&](int64_t id, std::string_view text) {
    EXPECT_EQ(id, static_cast<int64_t>(seen.size()));
    seen.emplace_back(text);
    return true;
  });
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(seen, SampleStrings());
}

TEST_F(PartReaderTest, ShowsNoMoreStringsThanAreWanted) {
  int seen = 0;
  ASSERT_TRUE(Open()->ForEachString([&](int64_t, std::string_view) { return ++seen < 3; }).ok());
  EXPECT_EQ(seen, 3);
}

TEST_F(PartReaderTest, GivesBackTracksWithAndWithoutWhatMayBeAbsent) {
  EXPECT_EQ(Open()->tracks(), SampleTracks());
}

TEST_F(PartReaderTest, GivesBackShapes) {
  const std::unique_ptr<PartReader> reader = Open();
  const std::vector<ArgShape> shapes = SampleShapes();
  ASSERT_EQ(reader->shapes().size(), shapes.size());
  for (size_t shape = 0; shape < shapes.size(); ++shape) {
    ASSERT_EQ(reader->shapes()[shape].size(), shapes[shape].size());
    for (size_t slot = 0; slot < shapes[shape].size(); ++slot) {
      EXPECT_EQ(reader->shapes()[shape][slot].key, shapes[shape][slot].key);
      EXPECT_EQ(reader->shapes()[shape][slot].type, shapes[shape][slot].type);
      EXPECT_EQ(reader->shapes()[shape][slot].of_event, shapes[shape][slot].of_event);
    }
  }
}

// The sample's rows stand in the order of a segment already.
TEST_F(PartReaderTest, GivesBackAllColumnsOfAllKinds) {
  const std::unique_ptr<PartReader> reader = Open();
  const std::vector<EventRows> rows = SampleRows();
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    if (rows[kind].size() == 0) continue;
    const auto segments = reader->segments(static_cast<EventKind>(kind + 1));
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_EQ(reader->rows(segments[0].kind), static_cast<int64_t>(rows[kind].size()));
    std::vector<uint32_t> order(rows[kind].size());
    for (uint32_t row = 0; row < order.size(); ++row) order[row] = row;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return rows[kind].of(EventColumn::kTrack)[a] < rows[kind].of(EventColumn::kTrack)[b];
    });
    for (const EventColumn column : ColumnsOf(segments[0].kind)) {
      Values expected;
      for (const uint32_t row : order) expected.push_back(rows[kind].of(column)[row]);
      EXPECT_EQ(**reader->Read(segments[0], column), expected) << kind + 1 << ", " << static_cast<int>(column);
    }
  }
}

TEST_F(PartReaderTest, SegmentsSayBetweenWhichTimesTheyAre) {
  const Segment segment = Open()->segments(EventKind::kSlice)[0];
  EXPECT_EQ(segment.min_time_ns, -100);
  EXPECT_EQ(segment.max_time_ns, 480);
  EXPECT_EQ(segment.max_end_ns, 999'900);
}

TEST_F(PartReaderTest, RowsGoOnThroughTheSegmentsOfAKind) {
  const std::string path = folder_ / "many.trace.db";
  const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, path);
  ASSERT_TRUE(AddRows(*writer, EventKind::kSlice, RowsOf({{0, 1}, {2, 1}, {4, 1}, {6, 1}, {8, 1}}), 2).ok());
  ASSERT_TRUE(writer->Finish({}).ok());
  const std::unique_ptr<PartReader> reader = *PartReader::Open(path, cache_);
  Values first_rows;
  for (const Segment& segment : reader->segments(EventKind::kSlice)) first_rows.push_back(segment.first_row);
  EXPECT_EQ(first_rows, (Values{0, 2, 4}));
}

TEST_F(PartReaderTest, SlicesHaveDepthsAndLevels) {
  const std::unique_ptr<PartReader> reader = Open();
  const Values depths = **reader->Read(reader->segments(EventKind::kSlice)[0], EventColumn::kDepth);
  ASSERT_EQ(depths.size(), 23u);
  EXPECT_EQ(Values(depths.begin(), depths.begin() + 3), (Values{0, 1, 1}));
  EXPECT_EQ(depths[22], 0);  // of the other track
  EXPECT_EQ(reader->rows(EventKind::kSummary), 2);
}

TEST_F(PartReaderTest, GivesBackArguments) {
  const std::unique_ptr<PartReader> reader = Open();
  const Segment segment = reader->segments(EventKind::kSlice)[0];
  EXPECT_EQ(**reader->ReadArg(segment, 1, 0), (Values{-5, 6}));
  EXPECT_EQ(**reader->ReadArg(segment, 1, 1), (Values{1250 * 16 + 2, 16}));
  EXPECT_EQ(**reader->ReadArg(segment, 1, 3), (Values{4, 5}));
}

TEST_F(PartReaderTest, AShapeThatASegmentHasNotHasNoArgumentsThere) {
  const std::unique_ptr<PartReader> reader = Open();
  EXPECT_TRUE((*reader->ReadArg(reader->segments(EventKind::kInstant)[0], 1, 0))->empty());
}

TEST_F(PartReaderTest, ArgumentsThatHaveNoColumnAreStorageBroken) {
  const std::unique_ptr<PartReader> reader = Open();
  const Segment segment = reader->segments(EventKind::kSlice)[0];
  const std::pair<uint32_t, uint32_t> places[] = {
      {0, 0}, {1, 5}, {1, 6}, {1, 7}, {2, 0}, {3, 0}, {UINT32_MAX, UINT32_MAX}};
  for (const auto& [shape, slot] : places) {
    EXPECT_EQ(reader->ReadArg(segment, shape, slot).status().code(), ErrorCode::kStorageBroken) << shape << " " << slot;
  }
}

TEST_F(PartReaderTest, BoundsAreThoseOfTheValues) {
  const std::unique_ptr<PartReader> reader = Open();
  const Segment segment = reader->segments(EventKind::kSlice)[0];
  const std::optional<ColumnBounds> bounds = *reader->ReadBounds(segment, EventColumn::kTrack);
  ASSERT_TRUE(bounds.has_value());
  EXPECT_EQ(bounds->min, 0);
  EXPECT_EQ(bounds->max, 1);
}

TEST_F(PartReaderTest, AColumnThatTheKindHasNotHasNoBounds) {
  const std::unique_ptr<PartReader> reader = Open();
  EXPECT_FALSE(reader->ReadBounds(reader->segments(EventKind::kCounter)[0], EventColumn::kDuration)->has_value());
}

TEST_F(PartReaderTest, AColumnIsReadOnceWhileTheCacheHoldsIt) {
  const std::unique_ptr<PartReader> reader = Open();
  const Segment segment = reader->segments(EventKind::kSlice)[0];
  const DecodedColumn first = *reader->Read(segment, EventColumn::kTime);
  EXPECT_EQ(*reader->Read(segment, EventColumn::kTime), first);
}

TEST_F(PartReaderTest, WhatOneReadIsThereForTheNextReaderOfThePart) {
  const auto read = [this] {
    const std::unique_ptr<PartReader> reader = Open();
    return *reader->Read(reader->segments(EventKind::kSlice)[0], EventColumn::kTime);
  };
  const DecodedColumn first = read();
  EXPECT_EQ(read(), first);
}

TEST_F(PartReaderTest, SeveralReadersHaveAPartOpen) {
  const std::unique_ptr<PartReader> one = Open();
  const std::unique_ptr<PartReader> two = Open();
  EXPECT_TRUE(ReadAll(*one).ok());
  EXPECT_TRUE(ReadAll(*two).ok());
}

TEST_F(PartReaderTest, LeavesNothingBesideAPart) {
  ASSERT_TRUE(ReadAll(*Open()).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

// What is not as it should be.

TEST_F(PartReaderTest, APartThatIsNotThereIsNotFound) {
  const Status status = PartReader::Open(folder_ / "none.trace.db", cache_).status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_NE(status.ToString().find("none.trace.db"), std::string::npos);
}

TEST_F(PartReaderTest, RefusesWhatIsNoPart) {
  for (const std::string& content : {std::string(), std::string("text"), std::string(10'000, 'x')}) {
    std::ofstream(path_, std::ios::binary) << content;
    const Status status = OpenAndRead();
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken) << content.substr(0, 5);
    EXPECT_NE(status.ToString().find(path_), std::string::npos) << status.ToString();
  }
}

TEST_F(PartReaderTest, RefusesPartsThatAreMarkedOtherwise) {
  WhyRefused("PRAGMA application_id = 7");
  EXPECT_NE(WhyRefused("PRAGMA application_id = 0x6b707472; PRAGMA user_version = 3").find("upgrade"),
            std::string::npos);
  WhyRefused("PRAGMA user_version = 1; DELETE FROM fact WHERE name = 'complete'");
}

TEST_F(PartReaderTest, RefusesAPartThatIsCutOffWhereverItIs) {
  const std::string whole = ReadFile(path_);
  for (size_t size = 0; size < whole.size(); size += 1500) {
    std::filesystem::resize_file(path_, 0);
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    const Status status = OpenAndRead();
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken) << size << ": " << status.ToString();
  }
}

TEST_F(PartReaderTest, RefusesTracksAndShapesThatAreNotDense) {
  const char* changes[] = {"UPDATE track SET id = 7 WHERE id = 2",
                           "UPDATE track SET id = -1 WHERE id = 0",
                           "DELETE FROM track WHERE id = 0",
                           "DELETE FROM shape WHERE id = 1",
                           "DELETE FROM shape WHERE slot = 0",
                           "UPDATE shape SET id = 0 WHERE id = 1",
                           "UPDATE shape SET slot = 9 WHERE slot = 6",
                           "UPDATE shape SET type = 'colour' WHERE slot = 0",
                           "UPDATE shape SET key = -1",
                           "UPDATE shape SET key = 1 << 32",
                           "UPDATE shape SET id = 1 << 20 WHERE id = 2"};
  const std::string whole = ReadFile(path_);
  for (const char* change : changes) {
    const std::string why = WhyRefused(change);
    EXPECT_NE(why.find("numbered from"), std::string::npos) << change << ": " << why;
    std::ofstream(path_, std::ios::binary) << whole;
  }
}

TEST_F(PartReaderTest, RefusesSegmentsThatCannotBe) {
  const char* changes[] = {"kind = 0",
                           "kind = -1",
                           "rows = 0",
                           "rows = 65537",
                           "rows = -1",
                           "min_time_ns = 1 << 62",
                           "max_time_ns = 1 << 62",
                           "max_end_ns = 1 << 62",
                           "min_time_ns = -(1 << 62)",
                           "min_time_ns = max_time_ns + 1",
                           "max_end_ns = max_time_ns - 1",
                           "id = -1",
                           "id = 0",
                           "id = 1 << 32"};
  const std::string whole = ReadFile(path_);
  for (const char* change : changes) {
    const std::string why = WhyRefused("UPDATE segment SET " + std::string(change) + " WHERE id = 1");
    EXPECT_NE(why.find("is none"), std::string::npos) << change << ": " << why;
    std::ofstream(path_, std::ios::binary) << whole;
  }
}

TEST_F(PartReaderTest, RefusesAPartThatLacksSegments) {
  EXPECT_NE(WhyRefused("DELETE FROM segment WHERE kind = 3").find("rows.counter"), std::string::npos);
}

TEST_F(PartReaderTest, NamesTheSegmentAndTheColumnThatAreOther) {
  struct Case {
    const char* change;
    const char* says;
  };
  const Case cases[] = {
      {"UPDATE segment_column SET data = data || x'00' WHERE id = (1 << 30 | 3)", "column 3 of segment 1"},
      {"UPDATE segment_column SET codec = 9 WHERE id = (1 << 30 | 3)", "column 3 of segment 1"},
      {"UPDATE segment_column SET checksum = 0 WHERE id = (1 << 30 | (1 << 10))", "column 0 of shape 1 of segment 1"},
      {"DELETE FROM segment_column WHERE id = (1 << 30 | 11)", "segment 1 has 23 rows, its column 11 has 0"},
      {"DELETE FROM segment_column WHERE id = (1 << 30 | (1 << 10) | 3)",
       "segment 1 has 2 rows of shape 1, its column 3 has 0"},
      {"UPDATE segment_column SET rows = 1, data = (SELECT data FROM segment_column WHERE id = (2 << 30 | 1)),"
       " codec = (SELECT codec FROM segment_column WHERE id = (2 << 30 | 1)),"
       " min = 0, max = 0 WHERE id = (1 << 30 | 1); UPDATE segment_column SET checksum = column_checksum(id, rows, "
       "codec,"
       " min, max, data) WHERE id = (1 << 30 | 1)",
       "segment 1 has 23 rows, its column 1 has 1"},
      {"DELETE FROM string WHERE id = 4", "no string 4"},
  };
  const std::string whole = ReadFile(path_);
  for (const Case& c : cases) {
    const std::string why = WhyRefused(c.change);
    EXPECT_NE(why.find(c.says), std::string::npos) << c.change << ": " << why;
    std::ofstream(path_, std::ios::binary) << whole;
  }
}

TEST_F(PartReaderTest, NoChangeOfATableOrAStringGoesUnseen) {
  struct Case {
    const char* change;
    const char* says;
  };
  const char* tables = "facts, tracks, shapes or segments";
  const char* strings = "strings from 0 to 7";
  const Case cases[] = {
      {"UPDATE fact SET value = 'mono' WHERE name = 'clock'", tables},
      {"UPDATE fact SET value = CAST(value AS TEXT) WHERE name = 'complete'", tables},
      {"UPDATE fact SET value = 1 WHERE name = 'checksum'", tables},
      {"DELETE FROM fact WHERE name = 'checksum'", tables},
      {"UPDATE track SET name = name || '2' WHERE id = 1", tables},
      {"UPDATE track SET sort_index = 77 WHERE id = 0", tables},
      {"UPDATE shape SET key = key + 1 WHERE slot = 1", tables},
      {"UPDATE shape SET beside = 1 - beside WHERE slot = 0 AND id = 1", tables},
      {"UPDATE segment SET max_end_ns = max_end_ns + 1 WHERE id = 1", tables},
      {"UPDATE segment SET first_row = 5 WHERE id = 1", tables},
      {"UPDATE string_block SET checksum = checksum + 1", tables},
      {"UPDATE string SET value = value || 'x' WHERE id = 4", strings},
      {"UPDATE string SET value = (SELECT group_concat(value, '') FROM string WHERE id IN (4, 5)) WHERE id = 4",
       strings},
      {"DELETE FROM string WHERE id = 4", strings},
      {"INSERT INTO string VALUES (64, 'more')", "it has 65 strings, and 1 blocks"},
      {"DELETE FROM string_block", "it has 8 strings, and 0 blocks"},
      {"UPDATE string_block SET id = 3", "numbered from 0"},
  };
  const std::string whole = ReadFile(path_);
  for (const Case& c : cases) {
    Change(c.change);
    const std::string why = WhyNotRead(c.change);
    EXPECT_NE(why.find(c.says), std::string::npos) << c.change << ": " << why;
    std::ofstream(path_, std::ios::binary) << whole;
  }
}

// By bounds segments are passed over without a look at their columns.
TEST_F(PartReaderTest, BoundsThatWereChangedAreToldBeforeTheyAreUsed) {
  const std::string whole = ReadFile(path_);
  for (const char* change : {"UPDATE segment_column SET min = min + 1 WHERE id = (1 << 30 | 1)",
                             "UPDATE segment_column SET max = min WHERE id = (1 << 30 | 2)",
                             "UPDATE segment_column SET rows = rows - 1 WHERE id = (1 << 30 | 4)",
                             "UPDATE segment_column SET checksum = 0 WHERE id = (1 << 30 | 1)",
                             "DELETE FROM segment_column WHERE id = (1 << 30 | 7)"}) {
    Change(change);
    const std::unique_ptr<PartReader> reader = Open();
    const Status status = reader->ReadBounds(reader->segments(EventKind::kSlice)[0], EventColumn::kTime).status();
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken) << change;
    EXPECT_NE(status.ToString().find("the columns of segment 1"), std::string::npos) << change;
    std::ofstream(path_, std::ios::binary) << whole;
  }
}

TEST_F(PartReaderTest, AChangedStringIsNeitherFoundNorPassedOver) {
  Change("UPDATE string SET value = 'other' WHERE id = 4");
  EXPECT_EQ(Open()->FindString("other").status().code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(Open()->FindString(SampleStrings()[1]).status().code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(Open()->ForEachString([](int64_t, std::string_view) { return true; }).code(), ErrorCode::kStorageBroken);
}

TEST_F(PartReaderTest, PassesOverKindsOfTheFuture) {
  ChangeUnseen("UPDATE segment SET kind = 99 WHERE kind = 3; UPDATE fact SET value = 0 WHERE name = 'rows.counter'");
  const std::unique_ptr<PartReader> reader = Open();
  EXPECT_TRUE(reader->segments(EventKind::kCounter).empty());
  EXPECT_EQ(reader->rows(EventKind::kSlice), 23);
}

TEST_F(PartReaderTest, ValuesOfOtherTypesThanTheirColumnsAreNoMoreThanWrong) {
  for (const char* change : {"UPDATE segment SET rows = 'x' WHERE id = 1", "UPDATE segment_column SET data = 5",
                             "UPDATE segment_column SET rows = 2.5", "UPDATE shape SET key = 'x'"}) {
    ChangeUnseen(change);
    EXPECT_NE(OpenAndRead().code(), ErrorCode::kInternal) << change;
  }
}

}  // namespace
}  // namespace kprof
