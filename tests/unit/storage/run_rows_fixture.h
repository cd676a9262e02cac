// A catalog.db with the schema and no runs, for tests of what reads and writes its rows.
#pragma once

#include <gtest/gtest.h>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "storage/db/db.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {

class RunRowsTest : public testing::Test {
 protected:
  RunRowsTest() { KPROF_CHECK(MakeCatalog(db_).ok()); }

  void Insert(const RunRow& run) {
    Status status = InsertRun(db_, run);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
};

}  // namespace kprof
