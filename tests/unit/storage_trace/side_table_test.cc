#include "storage/trace/format/side_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "storage/trace/format/part_schema.h"
#include "storage/trace/read/part_reader.h"
#include "storage/trace/write/part_writer.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/checksum_function.h"
#include "tests/fakes/trace/read_part.h"
#include "tests/fakes/trace/sample_part.h"
#include "tests/fakes/trace/seal_part.h"

namespace kprof {
namespace {

using ::testing::HasSubstr;

class SideTableTest : public testing::Test {
 protected:
  std::unique_ptr<PartWriter> Create() { return *PartWriter::Create(*files_, path_); }
  // With the sample's events and side tables.
  void WriteSample() {
    const std::unique_ptr<PartWriter> writer = Create();
    ASSERT_TRUE(FillSample(*writer).ok());
    ASSERT_TRUE(FillSideSample(*writer).ok());
    ASSERT_TRUE(writer->Finish({}).ok());
  }
  std::vector<int64_t> Read(PartReader& reader, const StoredSideTable& table, size_t column) {
    std::vector<int64_t> values;
    for (const SideSegment& segment : table.segments) {
      const DecodedColumn some = *reader.ReadSide(segment, column);
      values.insert(values.end(), some->begin(), some->end());
    }
    return values;
  }
  // Why all of a part cannot be read that was changed so, its checksums right.
  std::string WhyBroken(const std::string& change) {
    WriteSample();
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    AddChecksumFunction(db);
    EXPECT_EQ(sqlite3_exec(db, change.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << change;
    EXPECT_EQ(sqlite3_exec(db, kSetChecksums, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
    SealPart(path_);
    const Result<std::unique_ptr<PartReader>> reader = PartReader::Open(path_, cache_);
    const Status status = reader.ok() ? ReadAll(**reader) : reader.status();
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken) << change;
    return status.ToString();
  }
  int64_t Version() {
    Db db = *Db::Open(path_, {.mode = Db::Mode::kReadOnly, .immutable = true});
    return *db.QueryInteger("PRAGMA user_version");
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "a.trace.db";
  std::unique_ptr<Files> files_ = MakePosixFiles();
  ColumnCache cache_{1 << 20};
};

TEST_F(SideTableTest, IsReadAsItWasWritten) {
  WriteSample();
  const std::unique_ptr<PartReader> reader = *PartReader::Open(path_, cache_);
  const SideRows rows = SampleSideRows();
  const StoredSideTable* table = reader->FindSideTable("sample");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->table, rows.table);
  EXPECT_EQ(table->rows, 10);
  EXPECT_EQ(table->segments.size(), 3u);
  EXPECT_EQ(table->segments[1].first_row, 4);
  for (size_t column = 0; column < rows.columns.size(); ++column) {
    EXPECT_EQ(Read(*reader, *table, column), rows.columns[column]) << column;
  }
  EXPECT_EQ(reader->side_tables().size(), 2u);
  EXPECT_EQ(reader->FindSideTable("metric")->rows, 1);
  EXPECT_EQ(reader->FindSideTable("slice"), nullptr);
  EXPECT_TRUE(ReadAll(*reader).ok());
}

TEST_F(SideTableTest, LeavesEventsAsTheyAre) {
  WriteSample();
  const std::unique_ptr<PartReader> with = *PartReader::Open(path_, cache_);
  const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, folder_ / "b.trace.db");
  ASSERT_TRUE(FillSample(*writer).ok() && writer->Finish({}).ok());
  const std::unique_ptr<PartReader> without = *PartReader::Open(folder_ / "b.trace.db", cache_);
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    const auto of = static_cast<EventKind>(kind + 1);
    EXPECT_EQ(with->rows(of), without->rows(of));
  }
  EXPECT_EQ(with->facts(), without->facts());
}

TEST_F(SideTableTest, APartWithoutOneIsOfTheFormerVersion) {
  WriteSample();
  EXPECT_EQ(Version(), kPartFormatVersion);
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(FillSample(*writer).ok() && writer->Finish({}).ok());
  EXPECT_EQ(Version(), kPlainPartVersion);
  EXPECT_TRUE((*PartReader::Open(path_, cache_))->side_tables().empty());
}

TEST_F(SideTableTest, MayHaveNoRows) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(writer->AddSideTable(0, SampleSideRows().table).ok());
  ASSERT_TRUE(writer->Finish({}).ok());
  const std::unique_ptr<PartReader> reader = *PartReader::Open(path_, cache_);
  EXPECT_EQ(reader->FindSideTable("sample")->rows, 0);
}

TEST_F(SideTableTest, AColumnHasItsBoundsAndItsUnit) {
  WriteSample();
  const std::unique_ptr<PartReader> reader = *PartReader::Open(path_, cache_);
  EXPECT_EQ(reader->FindSideTable("sample")->table.columns[2].unit, "percent");
  EXPECT_EQ(SideTypeByName(SideTypeName(SideType::kReal)), SideType::kReal);
  EXPECT_EQ(SideTypeByName("blob"), std::nullopt);
}

// What a writer is given may be a lie.

TEST_F(SideTableTest, OnesThatNoPartMayHaveAreRefused) {
  const SideTable good = SampleSideRows().table;
  const std::function<void(SideTable&)> changes[] = {
      [](SideTable& t) { t.name = ""; },
      [](SideTable& t) { t.name = "Upper"; },
      [](SideTable& t) { t.name = "a b"; },
      [](SideTable& t) { t.name = "sqlite_schema"; },
      [](SideTable& t) { t.name = "1st"; },
      [](SideTable& t) { t.name = std::string(kMostSideNameBytes + 1, 'a'); },
      [](SideTable& t) { t.columns.clear(); },
      [](SideTable& t) { t.columns[0].name = "line"; },
      [](SideTable& t) { t.columns[0].name = "run"; },
      [](SideTable& t) { t.columns[0].name = "part"; },
      [](SideTable& t) { t.columns[0].name = "x\"; --"; },
      [](SideTable& t) { t.columns[0].type = static_cast<SideType>(0); },
      [](SideTable& t) { t.columns[0].type = static_cast<SideType>(4); },
      [](SideTable& t) { t.columns[0].unit = std::string(kMostSideNameBytes + 1, 'u'); },
      [](SideTable& t) {
        while (t.columns.size() <= kMostSideColumns) {
          t.columns.push_back({"c" + std::to_string(t.columns.size()), SideType::kReal, ""});
        }
      },
  };
  EXPECT_TRUE(CheckSideTable(good).ok());
  for (size_t i = 0; i < std::size(changes); ++i) {
    SideTable table = good;
    changes[i](table);
    EXPECT_EQ(CheckSideTable(table).code(), ErrorCode::kBadInput) << i;
    EXPECT_EQ(Create()->AddSideTable(0, table).code(), ErrorCode::kBadInput) << i;
  }
}

TEST_F(SideTableTest, NumbersOfTablesAreDenseAndTheirNamesDiffer) {
  const SideTable table = SampleSideRows().table;
  EXPECT_EQ(Create()->AddSideTable(1, table).code(), ErrorCode::kBadInput);
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(writer->AddSideTable(0, table).ok());
  EXPECT_THAT(writer->AddSideTable(1, table).ToString(), HasSubstr("comes twice"));
  EXPECT_FALSE(writer->Finish({}).ok());
}

TEST_F(SideTableTest, ThereAreNoMoreThanMayBe) {
  const std::unique_ptr<PartWriter> writer = Create();
  for (uint32_t i = 0; i < kMostSideTables; ++i) {
    ASSERT_TRUE(writer->AddSideTable(i, {"t" + std::to_string(i), SampleSideRows().table.columns}).ok());
  }
  EXPECT_THAT(writer->AddSideTable(kMostSideTables, SampleSideRows().table).ToString(), HasSubstr("more than 64"));
}

TEST_F(SideTableTest, RowsThatAreNotTheTablesAreRefused) {
  const SideRows rows = SampleSideRows();
  const std::function<void(EncodedSideSegment&)> changes[] = {
      [](EncodedSideSegment& s) { s.table = 1; },
      [](EncodedSideSegment& s) { s.rows = 0; },
      [](EncodedSideSegment& s) { s.rows = kMaxSegmentRows + 1; },
      [](EncodedSideSegment& s) { s.columns.pop_back(); },
      [](EncodedSideSegment& s) { s.columns.push_back(s.columns[0]); },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    EncodedSideSegment segment = EncodeSideRows(0, rows, 0, rows.size());
    changes[i](segment);
    const std::unique_ptr<PartWriter> writer = Create();
    ASSERT_TRUE(writer->AddSideTable(0, rows.table).ok());
    EXPECT_EQ(writer->AddSideSegment(segment).code(), ErrorCode::kBadInput) << i;
  }
}

// What a reader finds may be one.

TEST_F(SideTableTest, APartThatContradictsItselfIsNamed) {
  for (const char* change : {
           "UPDATE side_table SET id = 7 WHERE id = 1",
           "UPDATE side_table SET name = 'Odd name' WHERE id = 0",
           "UPDATE side_table SET name = 'metric' WHERE id = 0",
           "UPDATE side_table SET rows = rows + 1",
           "UPDATE side_table SET rows = 1 << 60",
           "DELETE FROM side_table WHERE id = 1",
           "UPDATE side_column SET type = 'colour' WHERE side_table = 0 AND position = 0",
           "UPDATE side_column SET side_table = 9 WHERE side_table = 1",
           "UPDATE side_column SET position = 9 WHERE side_table = 0 AND position = 1",
           "UPDATE side_column SET name = 'line'",
           "DELETE FROM side_column",
           "DELETE FROM side_segment",
           "UPDATE side_segment SET side_table = -1",
           "UPDATE side_segment SET side_table = 64",
           "UPDATE side_segment SET rows = rows + 1; UPDATE side_table SET rows = 13 WHERE id = 0",
           "UPDATE side_segment SET rows = 65537",
           "UPDATE side_segment SET rows = 0",
           "UPDATE OR IGNORE side_segment SET id = (SELECT min(id) FROM segment)",
           "UPDATE side_segment SET id = id + 1000",
           "DELETE FROM segment_column WHERE id >> 30 IN (SELECT id FROM side_segment)",
           "UPDATE segment_column SET rows = rows - 1 WHERE id >> 30 IN (SELECT id FROM side_segment)",
           "UPDATE segment_column SET codec = 77 WHERE id >> 30 IN (SELECT id FROM side_segment)",
           "UPDATE segment_column SET data = x'00' WHERE id >> 30 IN (SELECT id FROM side_segment)",
       }) {
    EXPECT_THAT(WhyBroken(change), HasSubstr("a.trace.db")) << change;
  }
}

TEST_F(SideTableTest, AChangeIsSeenByTheChecksum) {
  WriteSample();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE side_column SET unit = 'bytes'", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_THAT(PartReader::Open(path_, cache_).status().ToString(), HasSubstr("checksum"));
}

}  // namespace
}  // namespace kprof
