#include "daemon/rpc/run_lookup.h"

#include <gtest/gtest.h>

#include "storage/catalog/run_table.h"
#include "storage/catalog/schema.h"
#include "tests/fakes/storage/sample_runs.h"
#include "tests/fakes/storage/temporary_folder.h"

namespace kprof {
namespace {

class RunLookupTest : public testing::Test {
 protected:
  RunLookupTest() {
    Result<Db> db = Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
    EXPECT_TRUE(db.ok() && MigrateCatalog(*db).ok());
    db_.emplace(*std::move(db));
    for (const char* id : {"0000000000000001", "0000000000000002", "0100000000000003"}) {
      EXPECT_TRUE(InsertRun(*db_, SampleRun(id)).ok());
    }
  }

  // The run's id, or the code of the failure.
  std::string Find(const std::string& name) {
    Result<RunRow> row = LookUpStoredRun(*db_, {.uid = 1000}, name, RunAction::kSee, "show run");
    return row.ok() ? row->id : std::string(ErrorName(row.status().code()));
  }

  TemporaryFolder folder_;
  std::optional<Db> db_;
};

TEST_F(RunLookupTest, ResolvesWhateverARunMayBeCalled) {
  struct Case {
    const char* name;
    const char* found;
  };
  const Case cases[] = {
      {"0000000000000002", "0000000000000002"},
      {"01", "0100000000000003"},
      {"00", "usage"},
      {"02", "not_found"},
      {"0000000000000009", "not_found"},
      {"00000000000000020", "not_found"},
      {"no id!", "not_found"},
      {"", "usage"},
      {"@first", "usage"},
      {"@last", "0100000000000003"},
      {"@last~0", "0100000000000003"},
      {"@last~2", "0000000000000001"},
      {"@last~3", "not_found"},
      {"@last~99999999999999999999", "not_found"},
      {"@last~99999999999999999999x", "usage"},
      {"@last~-99999999999999999999", "usage"},
      {"@last~-1", "usage"},
      {"@last~+1", "usage"},
      {"@last~ 1", "usage"},
      {"@last~", "usage"},
      {"@last1", "usage"},
  };
  for (const Case& c : cases) EXPECT_EQ(Find(c.name), c.found) << c.name;
}

}  // namespace
}  // namespace kprof
