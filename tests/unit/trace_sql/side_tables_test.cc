#include "storage/trace_sql/tables/side_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "storage/trace/read/metric_table.h"
#include "storage/trace/write/part_writer.h"
#include "storage/trace_sql/attach/query_traces.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"
#include "tests/unit/trace_sql/trace_connection.h"

namespace kprof {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

int64_t Bits(double value) {
  return std::bit_cast<int64_t>(value);
}

class SideTables : public ::testing::Test {
 protected:
  // Strings: 1 gemm, 2 relu, 3 flops, 4 bytes, 5 byte, 6 a.py, 7 b.py.
  TracePlace Write(const std::string& run, const std::string& part, const std::function<void(PartWriter&)>& fill) {
    const std::string path = folder_ / (run + part + ".trace.db");
    const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, path);
    uint32_t id = 0;
    for (const char* text : {"", "gemm", "relu", "flops", "bytes", "byte", "a.py", "b.py"}) {
      EXPECT_TRUE(writer->AddString(id++, text).ok());
    }
    fill(*writer);
    EXPECT_TRUE(writer->Finish({}).ok());
    return {run, part, path, {}};
  }
  static void AddRows(PartWriter& writer, uint32_t id, const SideTable& table,
                      const std::vector<std::vector<int64_t>>& values, size_t segment_rows = 3) {
    SideRows rows(table);
    for (const std::vector<int64_t>& row : values) rows.Add(row);
    EXPECT_TRUE(writer.AddSideTable(id, table).ok());
    for (size_t first = 0; first < rows.size(); first += segment_rows) {
      EXPECT_TRUE(
          writer.AddSideSegment(EncodeSideRows(id, rows, first, std::min(segment_rows, rows.size() - first))).ok());
    }
  }
  TracePlace WriteMetrics(const std::string& run, const std::string& part) {
    return Write(run, part, [](PartWriter& writer) {
      AddRows(writer, 0, MetricSideTable(),
              {{1, 0, 3, Bits(10), 0},
               {1, 0, 4, Bits(64), 5},
               {2, 1, 3, Bits(2.5), 0},
               {1, 2, 3, Bits(12), 0},
               {1, 2, 4, kNoReal, kNoValue}});
    });
  }
  TracePlace WriteLines(const std::string& run, const std::string& part, const SideTable& table) {
    return Write(run, part, [&](PartWriter& writer) {
      AddRows(writer, 0, table, {{6, 10, 400}, {7, kNoValue, 100}, {kNoValue, 12, 7}});
    });
  }
  // Of the sandbox's catalog, as one of its people.
  Lines AskAs(const Viewer& viewer, const std::vector<TracePlace>& places, const std::vector<std::string>& runs,
              const std::string& sql) {
    auto query = UserQuery::Open(SandboxCatalog::Shared().path(), viewer, sql, {}, {},
                                 std::make_unique<QueryTraces>(places, pool_, nullptr, runs));
    if (!query.ok()) return {query.status().ToString()};
    Lines lines;
    while (true) {
      auto batch = (*query)->NextBatch();
      if (!batch.ok()) lines.push_back(batch.status().ToString());
      if (!batch.ok() || !batch->has_value()) return lines;
      for (int64_t row = 0; row < (*batch)->rows; ++row) {
        std::string text;
        for (size_t i = 0; i < (*batch)->columns.size(); ++i) {
          text += (i == 0 ? "" : "|") + ValueText((*batch)->columns[i][static_cast<size_t>(row)]);
        }
        lines.push_back(text);
      }
    }
  }

  const SideTable lines_{
      "lines",
      {{"file", SideType::kText, ""}, {"line", SideType::kInteger, ""}, {"samples", SideType::kInteger, "count"}}};
  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
  ColumnCache cache_{1 << 20};
  PartPool pool_{cache_};
};

TEST_F(SideTables, MetricsOfPartsAreRows) {
  TraceConnection traces({WriteMetrics("r1", "a")});
  EXPECT_THAT(
      traces.Ask("SELECT run, kernel, launch, name, value, unit, part, position FROM metric"),
      ElementsAre("r1|gemm|0|flops|10.0||a|NULL", "r1|gemm|0|bytes|64.0|byte|a|NULL", "r1|relu|1|flops|2.5||a|NULL",
                  "r1|gemm|2|flops|12.0||a|NULL", "r1|gemm|2|bytes|NULL|NULL|a|NULL"));
}

TEST_F(SideTables, ConditionsFindWhatTheySay) {
  TraceConnection traces({WriteMetrics("r1", "a"), WriteMetrics("r2", "b")});
  const auto count = [&](const std::string& where) {
    return traces.Ask("SELECT count(*) FROM metric WHERE " + where)[0];
  };
  EXPECT_EQ(count("1"), "10");
  EXPECT_EQ(count("kernel = 'gemm'"), "8");
  EXPECT_EQ(count("kernel IN ('relu', 'none')"), "2");
  EXPECT_EQ(count("kernel LIKE 'GE%' AND launch = 2"), "4");
  EXPECT_EQ(count("kernel GLOB 'r*'"), "2");
  EXPECT_EQ(count("launch BETWEEN 1 AND 2"), "6");
  EXPECT_EQ(count("unit = 'byte'"), "2");
  EXPECT_EQ(count("unit = ''"), "6");
  EXPECT_EQ(count("unit IS NULL"), "2");
  EXPECT_EQ(count("value > 10"), "4");
  EXPECT_EQ(count("run = 'r2'"), "5");
  EXPECT_EQ(count("part = 'b' AND run = 'r1'"), "0");
  EXPECT_EQ(count("kernel = 'nobody'"), "0");
  EXPECT_EQ(count("position = 0"), "0");
  EXPECT_EQ(count("kernel = 'gemm' OR launch = 1"), "10");
  EXPECT_EQ(count("rowid IN (SELECT rowid FROM metric)"), "10");
}

TEST_F(SideTables, AreThereAlsoWhereNoPartHasOne) {
  TraceConnection traces({Write("r1", "a", [](PartWriter&) {})});
  EXPECT_THAT(traces.Ask("SELECT * FROM metric"), IsEmpty());
}

TEST_F(SideTables, ComeUnderTheirOwnNames) {
  TraceConnection traces({WriteLines("r1", "a", lines_), WriteLines("r2", "b", lines_), WriteMetrics("r3", "c")});
  EXPECT_THAT(traces.Ask("SELECT * FROM lines WHERE run = 'r2'"),
              ElementsAre("r2|b|a.py|10|400", "r2|b|b.py|NULL|100", "r2|b|NULL|12|7"));
  EXPECT_THAT(traces.Ask("SELECT file, sum(samples) FROM lines GROUP BY file ORDER BY 2 DESC"),
              ElementsAre("a.py|800", "b.py|200", "NULL|14"));
  EXPECT_THAT(traces.Ask("SELECT count(*) FROM lines WHERE line > 10 AND file IS NULL"), ElementsAre("2"));
}

TEST_F(SideTables, ColumnsThatAPartHasNotAreNull) {
  SideTable more = lines_;
  more.columns[2] = {"misses", SideType::kInteger, ""};
  TraceConnection traces({WriteLines("r1", "a", lines_), WriteLines("r2", "b", more)});
  EXPECT_THAT(traces.Ask("SELECT run, samples, misses FROM lines WHERE line = 10"),
              ElementsAre("r1|400|NULL", "r2|NULL|400"));
  EXPECT_THAT(traces.Ask("SELECT run FROM lines WHERE misses = 7"), ElementsAre("r2"));
}

TEST_F(SideTables, AColumnOfAnotherTypeIsAFault) {
  SideTable other = lines_;
  other.columns[0].type = SideType::kInteger;
  TraceConnection traces({WriteLines("r1", "a", lines_), WriteLines("r2", "b", other)});
  const Lines lines = traces.Ask("SELECT count(*) FROM lines");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("failed"), HasSubstr("r2b.trace.db"), HasSubstr("another type")));
}

TEST_F(SideTables, NeverStandInThePlaceOfAnotherTable) {
  std::vector<TracePlace> places;
  for (const char* name : {"slice", "run", "json_each", "pragma_table_info", "analyze_overlap", "audit"}) {
    SideTable table = lines_;
    table.name = name;
    places.push_back(WriteLines("r1", name, table));
  }
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT count(*) FROM slice"), ElementsAre("0"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT id FROM run WHERE id = 'r1'"), ElementsAre("r1"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT value FROM json_each('[7]')"), ElementsAre("7"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT count(*) FROM audit"), ElementsAre("0"));
}

// SQL's own words are names as well.
TEST_F(SideTables, MayBeCalledAsWordsOfSql) {
  SideTable table = lines_;
  table.name = "select";
  table.columns[0].name = "order";
  TraceConnection traces({WriteLines("r1", "a", table)});
  EXPECT_THAT(traces.Ask("SELECT \"order\" FROM \"select\" WHERE line = 10"), ElementsAre("a.py"));
}

TEST_F(SideTables, AreNamedAndReadWithinTheSandbox) {
  const std::vector<TracePlace> places = {WriteLines("r1", "a", lines_)};
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT count(*) FROM lines"), ElementsAre("3"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT nope FROM lines")[0],
              HasSubstr("lines has run, part, file, line, samples"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "DELETE FROM lines")[0], HasSubstr("not allowed"));
  EXPECT_THAT(AskAs(kAlice, {}, {"r1"}, "SELECT count(*) FROM lines")[0], HasSubstr("no such table"));
}

TEST_F(SideTables, MetricsOfTheCatalogStandBeforeThoseOfParts) {
  const std::vector<TracePlace> places = {WriteMetrics("r1", "a")};
  EXPECT_THAT(
      AskAs(kAlice, places, {"r1"}, "SELECT run, kernel, launch, name, value, unit, part FROM metric LIMIT 3"),
      ElementsAre("r1|NULL|NULL|gpu_ms|2.5|ms|NULL", "r1|gemm one|3|dram|40|one|NULL", "r1|gemm|0|flops|10||a"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT name FROM metric WHERE kernel IS NULL"), ElementsAre("gpu_ms"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT value FROM metric WHERE kernel = 'gemm one'"), ElementsAre("40"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT count(*) FROM metric WHERE part IS NULL"), ElementsAre("2"));
  EXPECT_THAT(AskAs(kAlice, places, {"r1"}, "SELECT count(*) FROM metric WHERE launch = 3 OR name = 'gpu_ms'"),
              ElementsAre("2"));
}

TEST_F(SideTables, MetricsAreThoseOfTheRunsAskedAboutAlone) {
  EXPECT_THAT(AskAs(kAlice, {}, {"r2"}, "SELECT DISTINCT run FROM metric"), ElementsAre("r2"));
  EXPECT_THAT(AskAs(kAlice, {}, {"r2", "r4"}, "SELECT count(*) FROM metric WHERE run = 'r4'"), ElementsAre("2"));
  EXPECT_THAT(AskAs(kOperator, {}, {"r1"}, "SELECT count(*) FROM metric"), ElementsAre("2"));
}

TEST_F(SideTables, AreJoinedWithTheCatalog) {
  EXPECT_THAT(AskAs(kAlice, {WriteMetrics("r1", "a")}, {"r1"},
                    "SELECT r.id, count(*) FROM run r JOIN metric m ON m.run = r.id GROUP BY r.id"),
              ElementsAre("r1|7"));
}

}  // namespace
}  // namespace kprof
