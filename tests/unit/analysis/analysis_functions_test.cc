#include "daemon/analysis/sql/analysis_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/analysis/kinds/analysis_kinds.h"
#include "daemon/analysis/sql/attach/query_functions.h"
#include "storage/sandbox/user_query.h"
#include "storage/trace_sql/attach/query_traces.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"
#include "tests/unit/trace_sql/made_job.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Asked as users ask, in the sandbox, about the job of docs/sql.md.
class AnalysisFunctionsTest : public testing::Test {
 protected:
  // Rows with their values beside each other, or why there are none.
  std::vector<std::string> Ask(const std::string& sql, const QueryLimits& limits = {}) {
    auto query = UserQuery::Open(SandboxCatalog::Shared().path(), kAlice, sql, limits, {},
                                 std::make_unique<QueryTraces>(places_, pool_, &functions_));
    if (!query.ok()) return {query.status().ToString()};
    std::vector<std::string> lines;
    while (true) {
      const auto batch = (*query)->NextBatch();
      if (!batch.ok()) return {batch.status().ToString()};
      if (!batch->has_value()) return lines;
      for (int64_t row = 0; row < (*batch)->rows; ++row) {
        std::string line;
        for (const std::vector<SqlValue>& column : (*batch)->columns) {
          line += (line.empty() ? "" : " ") + ValueText(column[static_cast<size_t>(row)]);
        }
        lines.push_back(line);
      }
    }
  }

  const TemporaryFolder folder_;
  ColumnCache columns_{1 << 20};
  PartPool pool_{columns_};
  QueryFunctions functions_;
  std::vector<TracePlace> places_ = WriteJob(folder_);
};

TEST_F(AnalysisFunctionsTest, ThereIsOneForEachTableOfEachKind) {
  size_t tables = 0;
  for (const AnalysisKind& kind : AnalysisKinds()) tables += kind.tables.size() + (kind.facts.empty() ? 0 : 1);
  EXPECT_EQ(AnalysisFunctions().size(), tables);
  for (const TraceFunction& function : AnalysisFunctions()) {
    EXPECT_THAT(function.name, testing::StartsWith("analyze_"));
    EXPECT_THAT(Ask(std::string("SELECT count(*) >= 0 FROM ") + function.name), ElementsAre("1")) << function.name;
  }
}

TEST_F(AnalysisFunctionsTest, RowsAreThoseOfTheAnalysis) {
  const std::string times = "SELECT run, rank, device, total_ns, idle_ns, compute_ns, non_compute_ns FROM ";
  EXPECT_THAT(Ask(times + "analyze_temporal_breakdown ORDER BY rank"),
              ElementsAre("r1 0 0 1900000 1120000 480000 300000", "r1 1 0 1900000 980000 480000 440000"));
  EXPECT_THAT(Ask(times + "analyze_temporal_breakdown WHERE rank = 1 AND run = 'r1'"),
              ElementsAre("r1 1 0 1900000 980000 480000 440000"));
}

TEST_F(AnalysisFunctionsTest, OptionsAreHiddenColumns) {
  const std::string whole = "SELECT rank, total_ns FROM analyze_temporal_breakdown WHERE ";
  EXPECT_THAT(Ask(whole + "window = 'hta' ORDER BY rank"), ElementsAre("0 720000", "1 790000"));
  EXPECT_THAT(Ask(whole + "step = 1 AND rank = 0"), ElementsAre("0 900000"));
  EXPECT_THAT(Ask(whole + "from_ns = 100000 AND to_ns = 400000 AND rank = 0"), ElementsAre("0 300000"));
  EXPECT_THAT(Ask(whole + "\"limit\" = 1"), ElementsAre("0 1900000"));
  const std::string by_operator = "SELECT count(*) > 0 FROM analyze_kernel_breakdown_by_operator WHERE operators = ";
  EXPECT_THAT(Ask(by_operator + "TRUE"), ElementsAre("1"));
  EXPECT_THAT(Ask(by_operator + "'true'"), ElementsAre("1"));
  EXPECT_THAT(Ask(by_operator + "FALSE"), ElementsAre("0"));
  // From another table, and in each of its rows another value.
  EXPECT_THAT(Ask("SELECT s.n, a.total_ns FROM (SELECT 0 AS n UNION ALL SELECT 1) s "
                  "JOIN analyze_temporal_breakdown a ON a.step = s.n WHERE a.rank = 0 ORDER BY s.n"),
              ElementsAre("0 900000", "1 900000"));
}

TEST_F(AnalysisFunctionsTest, WhatIsWrongIsSaid) {
  const std::string all = "SELECT * FROM analyze_temporal_breakdown ";
  EXPECT_THAT(Ask(all + "WHERE window = 'half'"), ElementsAre(HasSubstr("cannot be 'half'; it is trace or hta")));
  EXPECT_THAT(Ask(all + "WHERE step = 'one'"), ElementsAre(HasSubstr("cannot be 'one'; it is a whole number")));
  EXPECT_THAT(Ask(all + "WHERE step = x'00'"), ElementsAre(HasSubstr("its option step cannot be")));
  EXPECT_THAT(Ask(all + "WHERE step = 9"), ElementsAre(HasSubstr("no such step; their steps are 0 to 1")));
  EXPECT_THAT(Ask("SELECT window FROM analyze_temporal_breakdown"), ElementsAre(HasSubstr("window is an argument")));
  EXPECT_THAT(Ask("SELECT nme FROM analyze_temporal_breakdown"),
              ElementsAre(HasSubstr("analyze_temporal_breakdown has run, rank, device")));
  EXPECT_THAT(Ask("SELECT 1 FROM analyze_nothing"), ElementsAre(HasSubstr("no such table: analyze_nothing")));
}

}  // namespace
}  // namespace kprof
