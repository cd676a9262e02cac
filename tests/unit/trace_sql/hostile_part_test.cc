// Parts that contradict themselves: a question about them fails and says which part it is, or is answered; nothing
// worse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/storage/checksum_function.h"
#include "tests/fakes/trace/seal_part.h"
#include "tests/unit/trace_sql/random_trace.h"

namespace kprof {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kEverything[] = {
    "SELECT * FROM slice",
    "SELECT * FROM instant",
    "SELECT * FROM counter",
    "SELECT * FROM flow",
    "SELECT * FROM flow_point",
    "SELECT * FROM metadata",
    "SELECT phase, count(*) FROM metadata WHERE name LIKE '%1' GROUP BY phase",
    "SELECT sum(arg(args, 'n')) FROM flow_point WHERE ts_ns BETWEEN 100 AND 9000",
    "SELECT * FROM track",
    "SELECT * FROM trace",
    "SELECT name, sum(dur_ns) FROM slice GROUP BY name",
    "SELECT track_id, count(*) FROM slice GROUP BY track_id",
    "SELECT DISTINCT category FROM slice",
    "SELECT count(*) FROM slice WHERE ts_ns BETWEEN 100 AND 9000 AND name LIKE '%1'",
    "SELECT count(*) FROM slice a JOIN slice b USING (correlation)",
    "SELECT count(*) FROM slice WHERE parent_id BETWEEN 0 AND 500",
    "SELECT count(*) FROM slice a JOIN slice b ON b.parent_id = a.id WHERE a.depth = 0",
    "SELECT sum(arg(args, 'n')) FROM slice",
};

class HostilePart : public ::testing::Test {
 protected:
  // The answers to everything, of a part that was changed so. Those of it that are failures.
  // Checksums are right but those of columns, which are so with `right_columns`: then nothing else tells of the change.
  Lines Failures(const std::string& change, bool right_columns = false) {
    const std::string path = folder_ / "x.trace.db";
    std::filesystem::copy_file(trace_.path("a"), path, std::filesystem::copy_options::overwrite_existing);
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(AskConnection(db, change), Lines{});
    AddChecksumFunction(db);
    if (right_columns) {
      EXPECT_EQ(AskConnection(db, kSetChecksums), Lines{});
    }
    sqlite3_close(db);
    SealPart(path);
    return FailuresOf(path);
  }
  static Lines FailuresOf(const std::string& path) {
    ColumnCache cache(1 << 20);
    PartPool pool(cache);
    TraceSet set(pool);
    const Status opened = set.Add({"r", "x", path, {}});
    if (!opened.ok()) return {opened.ToString()};
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
    EXPECT_TRUE(RegisterTraceTables(db, set).ok());
    Lines failures;
    for (const char* sql : kEverything) {
      const Lines lines = AskConnection(db, sql);
      if (!lines.empty() && lines.back().starts_with("failed: ")) failures.push_back(lines.back());
    }
    sqlite3_close_v2(db);
    return failures;
  }
  RandomTrace trace_;
  TemporaryFolder folder_;
};

TEST_F(HostilePart, IsNamedWhereItContradictsItself) {
  for (const char* change : {
           "DELETE FROM string WHERE id > 3",
           "DELETE FROM track WHERE id > 1",
           "DELETE FROM track",
           "DELETE FROM shape WHERE id > 1",
           "DELETE FROM shape",
           "UPDATE shape SET key = 4000000",
           "UPDATE shape SET type = 'string' WHERE type = 'integer'",
           "UPDATE segment SET rows = rows + 1",
           "UPDATE segment SET rows = 3 WHERE id = 2",
           "UPDATE segment SET kind = 1",
           "UPDATE segment SET kind = 2",
           "UPDATE segment SET kind = 4",
           "UPDATE segment SET rows = 1000000000",
           "UPDATE segment SET max_time_ns = 9223372036854775807",
           "UPDATE segment_column SET checksum = 1",
           "UPDATE segment_column SET data = x'00'",
           "UPDATE segment_column SET data = zeroblob(length(data))",
           "UPDATE segment_column SET codec = 77",
           "UPDATE segment_column SET rows = rows - 1",
           "DELETE FROM segment_column WHERE id & 1023 = 1",
           "DELETE FROM segment_column WHERE (id >> 10) & 1048575 > 0",
           "DELETE FROM segment_column",
       }) {
    const Lines failures = Failures(change);
    EXPECT_THAT(failures, Not(IsEmpty())) << change;
    for (const std::string& failure : failures) EXPECT_THAT(failure, HasSubstr("x.trace.db")) << change;
  }
}

TEST_F(HostilePart, MayLieAboutWhatIsNotChecked) {
  for (const char* change : {"UPDATE segment SET min_time_ns = 0", "UPDATE segment_column SET min = 5, max = 4",
                             "UPDATE segment_column SET min = -9223372036854775807 - 1, max = 9223372036854775807",
                             "DELETE FROM segment_column WHERE id & 1073741823 = 11"}) {
    EXPECT_THAT(Failures(change, true), IsEmpty()) << change;
  }
  EXPECT_THAT(Failures("UPDATE segment_column SET min = min - 1"), Not(IsEmpty()));
}

TEST_F(HostilePart, HasAPhaseThatIsNoLetter) {
  const Lines failures = Failures(
      "UPDATE segment_column SET codec = 1, min = 256, max = 256, data = x'0001000000000000' "
      "WHERE id & 1073741823 = 10",
      true);
  EXPECT_THAT(failures, Contains(HasSubstr("has a row of phase 256, which is no letter")));
  for (const std::string& failure : failures) EXPECT_THAT(failure, HasSubstr("x.trace.db"));
}

// Columns of one segment in the place of another's: sums match, values are out of all ranges.
TEST_F(HostilePart, IsReadWithValuesOfOtherColumns) {
  for (int from = 1; from <= 11; ++from) {
    for (int to = 1; to <= 11; ++to) {
      const std::string n = std::to_string(from);
      const std::string m = std::to_string(to);
      for (const std::string& failure :
           Failures("REPLACE INTO segment_column SELECT id - " + n + " + " + m +
                        ", rows, codec, min, max, checksum, data FROM segment_column WHERE id & 1073741823 = " + n,
                    true)) {
        EXPECT_THAT(failure, HasSubstr("x.trace.db"));
      }
    }
  }
}

TEST_F(HostilePart, IsReadWithAnyBytesChanged) {
  std::ifstream file(trace_.path("a"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 20; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    const std::string path = folder_ / "y.trace.db";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    FailuresOf(path);
  }
}

}  // namespace
}  // namespace kprof
