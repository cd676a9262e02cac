#include "storage/catalog/run_row.h"

#include "tests/unit/storage/run_rows_fixture.h"

namespace kprof {
namespace {

using TracePartRowTest = RunRowsTest;

RunRow Traced(const std::string& id) {
  RunRow run;
  run.id = id;
  run.uid = 1000;
  run.tool = "import";
  run.cwd = "/";
  TracePartRow part;
  part.name = "rank3";
  part.rank = 3;
  part.source_name = "a\xff.json";
  part.source_format = "kineto";
  part.source_bytes = 1000;
  part.source_hash = "1000-ab";
  part.source_artifact = "a_.json";
  part.asked_format = "auto";
  part.asked_rank = 3;
  part.bytes = 400;
  part.slices = 1;
  part.instants = 2;
  part.counters = 3;
  part.flows = 4;
  part.tracks = 5;
  TracePartRow other;
  other.name = "rank4";
  other.asked_format = "auto";
  other.bytes = 50;
  other.slices = 10;
  run.trace = {part, other};
  return run;
}

TEST_F(TracePartRowTest, IsReadBackAsItWasStored) {
  Insert(Traced("a"));
  EXPECT_EQ(ReadRun(db_, "a")->trace, Traced("a").trace);
}

TEST_F(TracePartRowTest, AddsUpWhatItsPartsHold) {
  const TraceTotals totals = TotalsOf(Traced("a").trace);
  EXPECT_EQ(totals, (TraceTotals{11, 2, 3, 4, 5, 450, 1000}));
}

TEST_F(TracePartRowTest, IsCountedWithWhatIsStoredUntilItIsDeleted) {
  RunRow run = Traced("a");
  std::vector<TracePartRow> trace;
  std::swap(trace, run.trace);
  Insert(run);
  const int64_t owned_before = *db_.QueryInteger("SELECT bytes FROM owners WHERE uid = 1000");
  run.trace = trace;
  ASSERT_TRUE(UpdateRun(db_, run).ok());
  EXPECT_EQ(*db_.QueryInteger("SELECT value FROM facts WHERE name = 'artifact_bytes'"), 450);
  EXPECT_EQ(*db_.QueryInteger("SELECT bytes FROM owners WHERE uid = 1000"), owned_before + 450);
  run.trace.pop_back();
  ASSERT_TRUE(UpdateRun(db_, run).ok());
  EXPECT_EQ(*db_.QueryInteger("SELECT value FROM facts WHERE name = 'artifact_bytes'"), 400);
  RunRow other = run;
  other.id = "b";
  other.trace.clear();
  Insert(other);
  ASSERT_TRUE(DeleteRun(db_, "a").ok());
  EXPECT_EQ(*db_.QueryInteger("SELECT value FROM facts WHERE name = 'artifact_bytes'"), 0);
  EXPECT_EQ(*db_.QueryInteger("SELECT bytes FROM owners WHERE uid = 1000"), owned_before);
  EXPECT_EQ(*db_.QueryInteger("SELECT count(*) FROM trace_parts"), 0);
}

}  // namespace
}  // namespace kprof
