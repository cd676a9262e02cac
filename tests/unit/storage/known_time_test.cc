#include "storage/catalog/retention.h"

#include <gtest/gtest.h>

#include "storage/catalog/audit_table.h"
#include "storage/catalog/catalog_schema.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class KnownTimeTest : public testing::Test {
 protected:
  KnownTimeTest() : db_(*Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite})) {
    EXPECT_TRUE(MakeCatalog(db_).ok());
  }
  void Append(int64_t time_ns) {
    AuditEntry entry;
    entry.time_ns = time_ns;
    EXPECT_TRUE(AppendAudit(db_, entry).ok());
  }

  TemporaryFolder folder_;
  Db db_;
};

TEST_F(KnownTimeTest, IsNotKnownOfAnEmptyCatalog) {
  EXPECT_EQ(*ReadKnownTime(db_), std::nullopt);
}

TEST_F(KnownTimeTest, IsThatOfTheNewestRunWhereThereIsNothingElse) {
  ASSERT_TRUE(db_.Execute("INSERT INTO runs (id, uid, tool, state, timeout_ms, queue_timeout_ms, queued_ns, cwd, argv, "
                          "environment) VALUES ('a', 1, '', 5, 0, 0, 70, x'', x'', x''), ('b', 1, '', 5, 0, 0, 60, "
                          "x'', x'', x'')")
                  .ok());
  EXPECT_EQ(*ReadKnownTime(db_), 60);
}

TEST_F(KnownTimeTest, IsWhenTheLastEntryWasWrittenNotTheLatestThatAWrongClockTold) {
  Append(100);
  Append(900);
  Append(110);
  EXPECT_EQ(*ReadKnownTime(db_), 110);
}

TEST_F(KnownTimeTest, IsWhatWasNotedLast) {
  Append(900);
  ASSERT_TRUE(NoteKnownTime(db_, 50).ok());
  ASSERT_TRUE(NoteKnownTime(db_, 40).ok());
  EXPECT_EQ(*ReadKnownTime(db_), 40);
}

}  // namespace
}  // namespace kprof
