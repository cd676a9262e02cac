#include "daemon/ingest/source/source_vfs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/ingest/made_source.h"

namespace kprof {
namespace {

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Connection = std::unique_ptr<sqlite3, Close>;

Connection Connect(const SourceVfs& vfs, int flags = SQLITE_OPEN_READONLY) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(kSourceUri, &db, flags | SQLITE_OPEN_URI, vfs.name()), SQLITE_OK);
  return Connection(db);
}

// What the query says, or SQLite's code.
std::string Ask(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (const int result = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr); result != SQLITE_OK)
    return "code " + std::to_string(result);
  const int result = sqlite3_step(statement);
  std::string answer = "code " + std::to_string(result);
  if (result == SQLITE_ROW) answer = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  return answer;
}

// So many rows that they fill some pages.
std::string Numbers(int count) {
  return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(count) +
         ") INSERT INTO t SELECT i, printf('%0100d', i) FROM n;";
}

TEST(SourceVfs, ReadsADatabaseThroughADescriptor) {
  const MadeSource source(DatabaseOf("CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT);" + Numbers(1000)));
  const SourceVfs vfs(source.file());
  const Connection db = Connect(vfs);
  EXPECT_EQ(Ask(db.get(), "SELECT sum(i) || ' ' || count(*) FROM t"), "500500 1000");
  EXPECT_TRUE(vfs.status().ok());
}

TEST(SourceVfs, ReadsADatabaseWhoseLogIsElsewhere) {
  std::string bytes = DatabaseOf("CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT);" + Numbers(10));
  bytes[18] = bytes[19] = 2;  // as one in WAL mode
  const MadeSource source(bytes);
  const SourceVfs vfs(source.file());
  EXPECT_EQ(Ask(Connect(vfs).get(), "SELECT count(*) FROM t"), "10");
}

TEST(SourceVfs, ChangesNothing) {
  const MadeSource source(DatabaseOf("CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT);" + Numbers(10)));
  const SourceVfs vfs(source.file());
  const Connection db = Connect(vfs);
  for (const char* sql : {"INSERT INTO t VALUES (11, '')", "DELETE FROM t", "CREATE TABLE u (x)", "VACUUM"}) {
    EXPECT_NE(Ask(db.get(), sql), "code 101") << sql;
  }
  EXPECT_EQ(Ask(db.get(), "SELECT count(*) FROM t"), "10");
}

TEST(SourceVfs, OpensNoOtherFile) {
  const MadeSource source(DatabaseOf("CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT);" + Numbers(10)));
  const SourceVfs vfs(source.file());
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2("file:x", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, vfs.name()),
            SQLITE_CANTOPEN);
  sqlite3_close_v2(db);
}

TEST(SourceVfs, LeavesWhatIsBeforeACutReadable) {
  const std::string bytes = DatabaseOf("CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT);" + Numbers(1000));
  const MadeSource source(std::string_view(bytes).substr(0, bytes.size() / 2));
  const SourceVfs vfs(source.file());
  EXPECT_EQ(vfs.claimed_bytes(), static_cast<int64_t>(bytes.size()));
  const Connection db = Connect(vfs);
  EXPECT_EQ(Ask(db.get(), "SELECT i FROM t LIMIT 1"), "1");
  EXPECT_EQ(Ask(db.get(), "SELECT sum(i) FROM t"), "code " + std::to_string(SQLITE_CORRUPT));
}

TEST(SourceVfs, SaysWhatTheFileItselfSaid) {
  auto source =
      std::make_unique<MadeSource>(DatabaseOf("CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT);" + Numbers(9)));
  const SourceFile file = source->file();
  const SourceVfs vfs(file);
  const Connection db = Connect(vfs);
  source.reset();  // its descriptor is no one's now
  EXPECT_EQ(Ask(db.get(), "SELECT count(*) FROM t"), "code " + std::to_string(SQLITE_IOERR));
  EXPECT_FALSE(vfs.status().ok());
}

TEST(SourceVfs, ReadsNothingOfWhatIsNoDatabase) {
  for (const std::string& bytes : {std::string(), std::string("short"), std::string(5000, 'x')}) {
    const MadeSource source(bytes);
    const SourceVfs vfs(source.file());
    EXPECT_EQ(vfs.claimed_bytes() >= static_cast<int64_t>(bytes.size()), true);
    const std::string answer = Ask(Connect(vfs).get(), "SELECT count(*) FROM sqlite_master");
    EXPECT_TRUE(answer == "0" || answer == "code " + std::to_string(SQLITE_NOTADB)) << answer;
  }
}

TEST(SourceVfs, SeveralAtATime) {
  const MadeSource one(DatabaseOf("CREATE TABLE t (x); INSERT INTO t VALUES ('one')"));
  const MadeSource two(DatabaseOf("CREATE TABLE t (x); INSERT INTO t VALUES ('two')"));
  const SourceVfs vfs_one(one.file());
  const SourceVfs vfs_two(two.file());
  EXPECT_EQ(Ask(Connect(vfs_one).get(), "SELECT x FROM t"), "one");
  EXPECT_EQ(Ask(Connect(vfs_two).get(), "SELECT x FROM t"), "two");
}

}  // namespace
}  // namespace kprof
