// The questions about traces of docs/sql.md, in tests/sql/trace: each .sql with the .csv that it answers.
// KPROF_UPDATE_GOLDEN=1 writes the answers anew instead of comparing them. docs/sql.md must quote both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/trace_sql/attach/query_traces.h"
#include "storage/trace_sql/trace_tables.h"
#include "tests/unit/trace_sql/made_job.h"
#include "tests/unit/trace_sql/worked_questions.h"

namespace kprof {
namespace {

using ::testing::HasSubstr;

TEST(TraceQuestions, AreAnsweredAsTheDocumentationSays) {
  const TemporaryFolder folder;
  const std::vector<TracePlace> places = WriteJob(folder);
  ColumnCache cache(1 << 20);
  PartPool pool(cache);
  EXPECT_GE(ExpectWorkedQuestions("tests/sql/trace", [&] { return std::make_unique<QueryTraces>(places, pool); }), 20);
}

TEST(TraceQuestions, AreAboutTablesThatTheDocumentationDescribes) {
  const std::string whole = ReadFile(Repository() / "docs/sql.md");
  const std::string documentation = whole.substr(whole.find("## Tables of traces"));
  for (const TraceTable& table : TraceTables()) {
    const size_t begin = documentation.find(std::string("### ") + table.name + "\n");
    ASSERT_NE(begin, std::string::npos) << table.name;
    const std::string section = documentation.substr(begin, documentation.find("\n##", begin + 4) - begin);
    for (const TraceColumn& column : table.columns) {
      EXPECT_THAT(section, HasSubstr(std::string("| `") + column.name + "` | " + column.type + " |")) << table.name;
    }
  }
}

}  // namespace
}  // namespace kprof
