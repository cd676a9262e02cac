// A query with others about: writers, readers, threads, and a catalog that is not there or not to be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "storage/sandbox/user_query.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UserQuery, FailsWithoutACatalog) {
  const Answer answer = Ask("/nonexistent/catalog.db", kAlice, "SELECT 1");
  EXPECT_EQ(answer.status.code(), ErrorCode::kNotFound) << answer.Text();
  EXPECT_THAT(answer.status.ToString(), HasSubstr("/nonexistent/catalog.db"));
}

TEST(UserQuery, FailsWhenSomethingElseIsNoCatalog) {
  SandboxCatalog catalog;
  const std::string path = catalog.folder() + "/other.db";
  std::ofstream(path) << std::string(4096, 'x');
  EXPECT_EQ(Ask(path, kAlice, "SELECT id FROM run").status.code(), ErrorCode::kStorageBroken);
}

TEST(UserQuery, SaysWhenTheCatalogStaysLocked) {
  SandboxCatalog catalog;
  SandboxCatalog::Expect(catalog.db().Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  const std::string path = catalog.folder() + "/locked.db";
  std::filesystem::copy_file(catalog.path(), path);
  sqlite3* holder = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &holder), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(holder, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr, nullptr, nullptr),
            SQLITE_OK);
  const Answer answer = Ask(path, kAlice, "SELECT id FROM run", {.timeout_ms = 1000});
  sqlite3_close(holder);
  EXPECT_EQ(ErrorName(answer.status.code()), "queue_full") << answer.Text();
  EXPECT_THAT(answer.status.ToString(), HasSubstr("database is locked; try again"));
}

TEST(UserQuery, GoesOnWhileAWriterWrites) {
  SandboxCatalog catalog;
  std::atomic<bool> done = false;
  std::atomic<int> written = 0;
  std::jthread writer([&] {
    for (int i = 0; !done || i < 20; ++i) {
      catalog.AddAtOnce(SomeRun("w" + std::to_string(i), kAlice.uid, false, "written"));
      written = i + 1;
    }
  });
  for (int i = 0; i < 50; ++i) {
    // Both sides see one moment, though they read one after the other.
    const Answer answer = Ask(catalog.path(), kAlice,
                              "SELECT (SELECT count(*) FROM run) - (SELECT count(*) FROM artifact), "
                              "(SELECT count(*) FROM run) - (SELECT count(*) FROM trust)");
    ASSERT_TRUE(answer.status.ok()) << answer.Text();
    EXPECT_THAT(answer.rows, ElementsAre("0|0"));
  }
  done = true;
  writer.join();
  EXPECT_GE(written, 20);
}

TEST(UserQuery, SeesOneMomentFromItsFirstRowOn) {
  SandboxCatalog catalog;
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run ORDER BY id", {.batch_rows = 1}, {});
  ASSERT_TRUE(query.ok());
  ASSERT_TRUE((*query)->NextBatch().ok());
  catalog.AddAtOnce(SomeRun("r8", kAlice.uid, false, "late"));
  while (true) {
    auto batch = (*query)->NextBatch();
    ASSERT_TRUE(batch.ok());
    if (!batch->has_value()) break;
  }
  EXPECT_EQ((*query)->rows(), 3);
}

TEST(UserQuery, LetsGoOfTheCatalogAtItsEnd) {
  SandboxCatalog catalog;
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run", {}, {});
  ASSERT_TRUE(query.ok());
  ASSERT_TRUE((*query)->NextBatch().ok());
  ASSERT_FALSE((*query)->NextBatch()->has_value());
  catalog.AddAtOnce(SomeRun("r8", kAlice.uid, false, "late"));
  // A reader that held on would keep the checkpoint from finishing.
  EXPECT_EQ(*catalog.db().QueryInteger("PRAGMA wal_checkpoint(TRUNCATE)"), 0);
}

TEST(UserQuery, RunsManyAtATime) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const Answer answer = Ask(catalog.path(), t % 2 == 0 ? kAlice : kOperator,
                                  "SELECT count(*) FROM (SELECT DISTINCT id FROM run ORDER BY command)");
        EXPECT_THAT(answer.rows, ElementsAre(t % 2 == 0 ? "3" : "6")) << answer.Text();
      }
    });
  }
}

TEST(UserQuery, MayMoveFromThreadToThread) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run ORDER BY command", {.batch_rows = 1}, {});
  ASSERT_TRUE(query.ok());
  for (int i = 0; i < 3; ++i) {
    std::jthread([&] { EXPECT_TRUE((*query)->NextBatch()->has_value()); });
  }
  std::jthread([&] { EXPECT_FALSE((*query)->NextBatch()->has_value()); }).join();
  std::jthread([&] { query->reset(); });
}

}  // namespace
}  // namespace kprof
