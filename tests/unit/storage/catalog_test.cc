#include "storage/catalog/catalog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/db/statement.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/faulty_disk.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

namespace fs = std::filesystem;

class CatalogTest : public testing::Test {
 protected:
  std::string HowToRestore() const {
    return "put a backup in its place with kprofd --user --state-dir " + options_.layout.state_folder +
           " --restore FILE";
  }
  Result<std::unique_ptr<Catalog>> Open() { return Catalog::Open(options_, *files_); }
  Status Insert(Catalog& catalog, const std::string& id) {
    return catalog.writer().SubmitAndWait([&](Db& db) { return InsertRun(db, SampleRun(id)); });
  }
  // As a crash would leave it: a copy of the files of a living catalog.
  Layout CopyOfLiving() {
    Layout copy{folder_ / "crashed"};
    fs::copy(options_.layout.state_folder, copy.state_folder);
    return copy;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
  Catalog::Options options_{.layout = {folder_ / "var/lib/kprof"}};
};

TEST_F(CatalogTest, CreatesItsFoldersForTheOwnerAlone) {
  std::unique_ptr<Catalog> catalog = *Open();
  EXPECT_EQ(ModeOf(options_.layout.state_folder), 0700u);
  EXPECT_EQ(ModeOf(options_.layout.RunsFolder()), 0700u);
  EXPECT_EQ(ModeOf(options_.layout.CatalogPath()), 0600u);
  EXPECT_EQ(ModeOf(options_.layout.LockPath()), 0600u);
}

TEST_F(CatalogTest, KeepsRunsFromOneLifeToTheNext) {
  { ASSERT_TRUE(Insert(**Open(), "a").ok()); }
  std::unique_ptr<Catalog> catalog = *Open();
  EXPECT_EQ(*ReadRun(**catalog->readers().Borrow(), "a"), SampleRun("a"));
}

TEST_F(CatalogTest, ShowsReadersWhatTheWriterCommitted) {
  std::unique_ptr<Catalog> catalog = *Open();
  EXPECT_EQ(*ReadLastRunId(**catalog->readers().Borrow()), "");
  ASSERT_TRUE(Insert(*catalog, "a").ok());
  EXPECT_EQ(*ReadLastRunId(**catalog->readers().Borrow()), "a");
}

TEST_F(CatalogTest, TheWriterKeepsItsStatements) {
  std::unique_ptr<Catalog> catalog = *Open();
  bool is_kept = false;
  Status status = catalog->writer().SubmitAndWait([&](Db& db) {
    RETURN_IF_ERROR(Statement(db, "SELECT 17").Run());
    sqlite3_stmt* kept = nullptr;
    while ((kept = sqlite3_next_stmt(db.handle(), kept)) != nullptr)
      is_kept |= sqlite3_sql(kept) == std::string("SELECT 17");
    return OkStatus();
  });
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(is_kept);
}

TEST_F(CatalogTest, RefusesASecondOpenerAndNamesTheFirst) {
  std::unique_ptr<Catalog> catalog = *Open();
  Result<std::unique_ptr<Catalog>> second = Open();
  ASSERT_EQ(second.status().code(), ErrorCode::kUsage);
  EXPECT_NE(second.status().why().find("is held by kprofd, pid " + std::to_string(::getpid()) + " since 20"),
            std::string::npos)
      << second.status().ToString();
  EXPECT_TRUE(Insert(*catalog, "a").ok());
  catalog.reset();
  EXPECT_TRUE(Open().ok());
}

TEST_F(CatalogTest, TellsACleanStopFromACrash) {
  std::unique_ptr<Catalog> catalog = *Open();
  EXPECT_FALSE(catalog->last_stop_was_unclean());
  Layout crashed = CopyOfLiving();
  catalog.reset();
  EXPECT_FALSE((*Open())->last_stop_was_unclean());
  {
    std::unique_ptr<Catalog> after_crash = *Catalog::Open({.layout = crashed}, *files_);
    EXPECT_TRUE(after_crash->last_stop_was_unclean());
    EXPECT_TRUE(after_crash->QuickCheck({}).ok());
  }
  EXPECT_FALSE((*Catalog::Open({.layout = crashed}, *files_))->last_stop_was_unclean());
}

TEST_F(CatalogTest, LeavesOneFileAfterACleanStop) {
  { ASSERT_TRUE(Insert(**Open(), "a").ok()); }
  EXPECT_FALSE(fs::exists(options_.layout.CatalogPath() + "-wal"));
}

TEST_F(CatalogTest, RefusesANewerVersionUntouched) {
  { ASSERT_TRUE(Open().ok()); }
  {
    Db db = *Db::Open(options_.layout.CatalogPath(), {.mode = Db::Mode::kReadWrite});
    ASSERT_TRUE(db.Execute("PRAGMA user_version = 1000; CREATE TABLE of_the_future (x)").ok());
  }
  std::string before = ReadFile(options_.layout.CatalogPath());
  Result<std::unique_ptr<Catalog>> catalog = Open();
  ASSERT_EQ(catalog.status().code(), ErrorCode::kStorageBroken);
  EXPECT_NE(catalog.status().ToString().find("it is version 1000, this kprofd knows up to"), std::string::npos);
  EXPECT_EQ(ReadFile(options_.layout.CatalogPath()), before);
}

TEST_F(CatalogTest, RefusesANewerVersionUntouchedAfterACrashToo) {
  { ASSERT_TRUE(Open().ok()); }
  Layout crashed;
  {
    Db db = *Db::Open(options_.layout.CatalogPath(), {.mode = Db::Mode::kReadWrite});
    ASSERT_TRUE(db.Execute("PRAGMA user_version = 1000").ok());
    crashed = CopyOfLiving();
  }
  std::string before = ReadFile(crashed.CatalogPath()), wal_before = ReadFile(crashed.CatalogPath() + "-wal");
  EXPECT_EQ(Catalog::Open({.layout = crashed}, *files_).status().code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(ReadFile(crashed.CatalogPath()), before);
  EXPECT_EQ(ReadFile(crashed.CatalogPath() + "-wal"), wal_before);
}

TEST_F(CatalogTest, RefusesSomebodyElsesDatabaseUntouched) {
  fs::create_directories(options_.layout.state_folder);
  {
    Db db = *Db::Open(options_.layout.CatalogPath(), {.mode = Db::Mode::kReadWrite, .wal = false});
    ASSERT_TRUE(db.Execute("PRAGMA application_id = 7; CREATE TABLE theirs (x)").ok());
  }
  std::string before = ReadFile(options_.layout.CatalogPath());
  EXPECT_EQ(Open().status().code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(ReadFile(options_.layout.CatalogPath()), before);
}

TEST_F(CatalogTest, OneThatIsNoDatabaseSaysHowToPutABackupThere) {
  fs::create_directories(options_.layout.state_folder);
  std::ofstream(options_.layout.CatalogPath()) << std::string(5000, 'x');
  const Status refused = Open().status();
  EXPECT_EQ(refused.code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(refused.ToString(), "open catalog in state folder " + options_.layout.state_folder + ": open " +
                                    options_.layout.CatalogPath() + ": file is not a database; " + HowToRestore());
}

TEST_F(CatalogTest, WithoutTheRightToItsFolderSaysWhichAndWhatToDo) {
  options_.layout.state_folder = "/sys";  // where not even root creates files
  const Status refused = Open().status();
  EXPECT_EQ(refused.code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(refused.what(), "open catalog in state folder /sys");
  EXPECT_NE(refused.remedy().find("--state-dir"), std::string::npos);
}

TEST_F(CatalogTest, SaysWhichFolderItMayNotMake) {
  std::ofstream(folder_ / "file") << "x";
  options_.layout.state_folder = folder_ / "file/kprof";
  Status status = Open().status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.ToString().find(folder_ / "file"), std::string::npos) << status.ToString();
}

TEST_F(CatalogTest, QuickCheckFindsDamage) {
  {
    std::unique_ptr<Catalog> catalog = *Open();
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(Insert(*catalog, std::to_string(i)).ok());
    EXPECT_TRUE(catalog->QuickCheck({}).ok());
  }
  {
    // An index entry without its run, which no page checksum would show.
    Db db = *Db::Open(options_.layout.CatalogPath(), {.mode = Db::Mode::kReadWrite});
    int64_t root = *db.QueryInteger("SELECT rootpage FROM sqlite_schema WHERE name = 'runs'");
    ASSERT_TRUE(db.Execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
    std::fstream file(options_.layout.CatalogPath(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((root - 1) * 4096 + 100);
    file << std::string(3000, '\x55');
  }
  std::unique_ptr<Catalog> catalog = *Open();
  EXPECT_EQ(catalog->QuickCheck({}).code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(catalog->QuickCheck({}).remedy(), HowToRestore());
}

TEST_F(CatalogTest, QuickCheckStopsWhenToldTo) {
  std::unique_ptr<Catalog> catalog = *Open();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(catalog->QuickCheck(stop.get_token()).code(), ErrorCode::kCancelled);
}

TEST_F(CatalogTest, BacksUpWhileOthersWrite) {
  std::unique_ptr<Catalog> catalog = *Open();
  RunRow big = SampleRun("");
  big.argv.assign(1, std::string(20'000, 'x'));
  for (int i = 1000; i < 1200; ++i) {
    big.id = std::to_string(i);
    catalog->writer().Submit([big](Db& db) { return InsertRun(db, big); }, [](Status) {});
  }
  ASSERT_TRUE(catalog->writer().SubmitAndWait([](Db&) { return OkStatus(); }).ok());
  std::atomic<bool> done = false;
  std::atomic<int> written = 0;
  std::jthread writer([&] {
    for (int i = 2000; !done; ++i, ++written) EXPECT_TRUE(Insert(*catalog, std::to_string(i)).ok());
  });
  while (written == 0) std::this_thread::yield();
  Status status = catalog->BackUp(folder_ / "copy.db", {});
  done = true;
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(ModeOf(folder_ / "copy.db"), 0600u);
  EXPECT_FALSE(fs::exists(folder_ / "copy.db-journal"));

  // Restored: put in place of a catalog, without ceremony.
  Catalog::Options restored{.layout = {folder_ / "restored"}};
  fs::create_directory(restored.layout.state_folder);
  fs::copy(folder_ / "copy.db", restored.layout.CatalogPath());
  std::unique_ptr<Catalog> copy = *Catalog::Open(restored, *files_);
  EXPECT_FALSE(copy->last_stop_was_unclean());
  EXPECT_TRUE(copy->QuickCheck({}).ok());
  ReaderPool::Lease reader = *copy->readers().Borrow();
  EXPECT_GE(ReadCounts(*reader)->runs, 201);
  EXPECT_EQ(ReadCounts(*reader)->runs, *reader->QueryInteger("SELECT count(*) FROM runs"));
  EXPECT_EQ(ReadRun(*reader, "1199")->argv, big.argv);
}

TEST_F(CatalogTest, BackupOpensWhereNothingMayBeWritten) {
  std::unique_ptr<Catalog> catalog = *Open();
  ASSERT_TRUE(Insert(*catalog, "a").ok());
  ASSERT_TRUE(catalog->BackUp(folder_ / "copy.db", {}).ok());
  std::string uri = "file:" + (folder_ / "copy.db") + "?immutable=1";
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "SELECT * FROM runs", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_FALSE(fs::exists(folder_ / "copy.db-wal"));
}

TEST_F(CatalogTest, BackupOverwritesNothing) {
  std::unique_ptr<Catalog> catalog = *Open();
  std::ofstream(folder_ / "copy.db") << "precious";
  EXPECT_EQ(catalog->BackUp(folder_ / "copy.db", {}).code(), ErrorCode::kUsage);
  EXPECT_EQ(ReadFile(folder_ / "copy.db"), "precious");
}

TEST_F(CatalogTest, StoppedBackupLeavesNothing) {
  std::unique_ptr<Catalog> catalog = *Open();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(catalog->BackUp(folder_ / "copy.db", stop.get_token()).code(), ErrorCode::kCancelled);
  EXPECT_FALSE(fs::exists(folder_ / "copy.db"));
}

TEST_F(CatalogTest, BackupThatWouldFillTheDiskWritesNothing) {
  FaultyDisk disk;
  std::unique_ptr<Catalog> catalog = *Catalog::Open(options_, disk.files);
  disk.files.SayFree(catalog->ReadSizeBytes() + Catalog::kBackUpSpareBytes - 1);
  Status status = catalog->BackUp(folder_ / "copy.db", {});
  EXPECT_EQ(status.code(), ErrorCode::kStorageFull);
  EXPECT_NE(status.ToString().find(std::to_string(catalog->ReadSizeBytes() + Catalog::kBackUpSpareBytes)),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "copy.db"));
  disk.files.SayFree(catalog->ReadSizeBytes() + Catalog::kBackUpSpareBytes);
  EXPECT_TRUE(catalog->BackUp(folder_ / "copy.db", {}).ok());
}

TEST_F(CatalogTest, FailedBackupLeavesNothingAndHarmsNothing) {
  FaultyDisk disk;
  options_.vfs = disk.vfs.name();
  std::unique_ptr<Catalog> catalog = *Catalog::Open(options_, disk.files);
  ASSERT_TRUE(Insert(*catalog, "a").ok());
  int failures = 0;
  for (int64_t at = 1;; ++at) {
    disk.plan.FailAt(at, Fault::kNoSpace);
    Status status = catalog->BackUp(folder_ / "copy.db", {});
    if (!disk.plan.has_failed()) {
      EXPECT_TRUE(status.ok()) << status.ToString();
      break;
    }
    if (!status.ok()) {
      ++failures;
      EXPECT_FALSE(fs::exists(folder_ / "copy.db")) << at;
      EXPECT_FALSE(fs::exists(folder_ / "copy.db-journal")) << at;
    }
    disk.plan.Heal();
    ASSERT_TRUE(disk.files.Remove(folder_ / "copy.db").ok());
  }
  disk.plan.Heal();
  EXPECT_GT(failures, 5);
  EXPECT_TRUE(Insert(*catalog, "b").ok());
  EXPECT_TRUE(catalog->QuickCheck({}).ok());
}

TEST_F(CatalogTest, KnowsItsSize) {
  std::unique_ptr<Catalog> catalog = *Open();
  int64_t before = catalog->ReadSizeBytes();
  ASSERT_TRUE(Insert(*catalog, "a").ok());
  EXPECT_GT(catalog->ReadSizeBytes(), before);
}

}  // namespace
}  // namespace kprof
