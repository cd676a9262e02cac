#include "storage/catalog/catalog_restore.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "storage/catalog/catalog.h"
#include "storage/catalog/device_records.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/faulty_disk.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

namespace fs = std::filesystem;

const std::set<std::string> kBackedUp = {"a"};  // the runs of the backup
const std::set<std::string> kOld = {"a", "b"};  // and of the catalog that it takes the place of

class CatalogRestoreTest : public testing::Test {
 protected:
  // A backup of kBackedUp; the catalog itself is kOld, with what is more in its WAL.
  void MakeBackupAndGoOn() {
    {
      std::unique_ptr<Catalog> catalog = *Catalog::Open(options_, disk_.files);
      ASSERT_TRUE(Insert(*catalog, "a"));
      ASSERT_TRUE(catalog->BackUp(backup_, {}).ok());
    }
    std::unique_ptr<Catalog> catalog = *Catalog::Open(options_, disk_.files);
    ASSERT_TRUE(Insert(*catalog, "b"));
    // As a kill leaves it: taken away while it is open.
    fs::copy(options_.layout.state_folder, folder_ / "killed");
    catalog.reset();
    fs::remove_all(options_.layout.state_folder);
    fs::rename(folder_ / "killed", options_.layout.state_folder);
    ASSERT_TRUE(fs::exists(options_.layout.CatalogPath() + "-wal"));
    disk_.plan.Forget();
  }
  static bool Insert(Catalog& catalog, const std::string& id) {
    return catalog.writer().SubmitAndWait([&](Db& db) { return InsertRun(db, SampleRun(id)); }).ok();
  }
  Result<RestoredCatalog> Restore() { return RestoreCatalog(options_.layout, backup_, disk_.files, disk_.vfs.name()); }

  std::set<std::string> RunsIn(const Layout& layout) {
    Result<std::unique_ptr<Catalog>> catalog = Catalog::Open({.layout = layout, .vfs = disk_.vfs.name()}, disk_.files);
    EXPECT_TRUE(catalog.ok()) << catalog.status().ToString();
    if (!catalog.ok()) return {};
    EXPECT_TRUE((*catalog)->QuickCheck({}).ok());
    ReaderPool::Lease reader = *(*catalog)->readers().Borrow();
    std::set<std::string> ids;
    for (const RunRow& run : *ListRuns(*reader, {})) ids.insert(run.id);
    return ids;
  }
  // Of a catalog that was put away; a copy of it, so that it stays as it is.
  std::set<std::string> RunsOfLost(const std::string& path) {
    Layout layout{folder_ / "old"};
    fs::remove_all(layout.state_folder);
    fs::create_directory(layout.state_folder);
    for (const char* part : {"", "-wal"}) {
      if (fs::exists(path + part)) fs::copy(path + part, layout.CatalogPath() + part);
    }
    return RunsIn(layout);
  }
  // All in lost/; each is a folder of its own.
  std::multiset<std::set<std::string>> Lost() {
    std::multiset<std::set<std::string>> found;
    if (!fs::exists(options_.layout.LostFolder())) return found;
    for (const auto& entry : fs::directory_iterator(options_.layout.LostFolder())) {
      found.insert(RunsOfLost(entry.path() / "catalog.db"));
    }
    return found;
  }
  std::set<std::string> Runs() { return RunsIn(options_.layout); }

  // Keeps the state folder for BeginAgain, then restores once, in a world without faults.
  int64_t CountRestoreOps() {
    fs::copy(options_.layout.state_folder, pristine_, fs::copy_options::recursive);
    disk_.plan.Heal();
    EXPECT_TRUE(Restore().ok());
    return disk_.plan.ops();
  }
  void BeginAgain() {
    fs::remove_all(options_.layout.state_folder);
    fs::copy(pristine_, options_.layout.state_folder, fs::copy_options::recursive);
    disk_.plan.Forget();
  }

  void WriteBackup(const std::string& bytes) { std::ofstream(backup_, std::ios::binary) << bytes; }

  TemporaryFolder folder_;
  FaultyDisk disk_;
  Catalog::Options options_{.layout = {folder_ / "state"}, .vfs = disk_.vfs.name()};
  std::string backup_ = folder_ / "backup.db";
  const std::string pristine_ = folder_ / "pristine";
};

TEST_F(CatalogRestoreTest, TheBackupTakesThePlaceOfACatalogWithAWal) {
  MakeBackupAndGoOn();
  Result<RestoredCatalog> restored = Restore();
  ASSERT_TRUE(restored.ok()) << restored.status().ToString();
  EXPECT_EQ(Runs(), kBackedUp);
  // The other one is still there, whole.
  EXPECT_EQ(RunsOfLost(restored->replaced), kOld);
}

// What is on the devices now counts, not what was there when the backup was made.
TEST_F(CatalogRestoreTest, WhatRunsLeftOnDevicesStaysKnown) {
  auto change = [&](const std::function<Status(Db&)>& job) {
    std::unique_ptr<Catalog> catalog = *Catalog::Open(options_, disk_.files);
    ASSERT_TRUE(catalog->writer().SubmitAndWait(job).ok());
  };
  auto known = [&] {
    std::unique_ptr<Catalog> catalog = *Catalog::Open(options_, disk_.files);
    return *ReadLeftovers(**catalog->readers().Borrow());
  };
  const LeftoverRow gone{"0", "told", "boot"};
  const LeftoverRow there{"1", "left", "boot"};
  change([&](Db& db) { return NoteLeftover(db, gone); });
  MakeBackupAndGoOn();
  change([&](Db& db) -> Status {
    RETURN_IF_ERROR(ForgetLeftover(db, gone));
    return NoteLeftover(db, there);
  });
  ASSERT_TRUE(Restore().ok());
  EXPECT_EQ(Runs(), kBackedUp);
  EXPECT_EQ(known(), std::vector{there});
  // A catalog that cannot say: it may be why somebody restores.
  std::ofstream(options_.layout.CatalogPath(), std::ios::binary) << "scribbled";
  ASSERT_TRUE(Restore().ok());
  EXPECT_EQ(known(), std::vector{gone});
}

TEST_F(CatalogRestoreTest, AnotherOneRightAfterPutsAwayWhatTheFirstBrought) {
  MakeBackupAndGoOn();
  const std::string first = Restore()->replaced;
  const std::string second = Restore()->replaced;
  EXPECT_NE(first, second);
  EXPECT_EQ(RunsOfLost(first), kOld);
  EXPECT_EQ(RunsOfLost(second), kBackedUp);
  EXPECT_EQ(Runs(), kBackedUp);
}

TEST_F(CatalogRestoreTest, ARestoredCatalogWasStoppedInGoodOrder) {
  MakeBackupAndGoOn();
  ASSERT_TRUE(Restore().ok());
  EXPECT_FALSE((*Catalog::Open(options_, disk_.files))->last_stop_was_unclean());
}

TEST_F(CatalogRestoreTest, AFolderThatIsNotThereIsMade) {
  MakeBackupAndGoOn();
  options_.layout.state_folder = folder_ / "new/state";
  Result<RestoredCatalog> restored = Restore();
  ASSERT_TRUE(restored.ok()) << restored.status().ToString();
  EXPECT_EQ(restored->replaced, "");
  EXPECT_EQ(Runs(), kBackedUp);
}

TEST_F(CatalogRestoreTest, IsRefusedWhileADaemonLivesThere) {
  MakeBackupAndGoOn();
  std::unique_ptr<Catalog> catalog = *Catalog::Open(options_, disk_.files);
  Result<RestoredCatalog> restored = Restore();
  ASSERT_EQ(restored.status().code(), ErrorCode::kUsage);
  EXPECT_NE(restored.status().ToString().find("is held by kprofd, pid"), std::string::npos);
}

TEST_F(CatalogRestoreTest, WhatIsNoBackupChangesNothing) {
  MakeBackupAndGoOn();
  const std::string good = ReadFile(backup_);
  std::string torn = good.substr(0, good.size() / 2);
  std::string newer = good;
  newer[63] = 77;  // user_version
  std::string scribbled = good;
  for (size_t i = 4096; i + 4096 < scribbled.size(); i += 64) scribbled[i] = static_cast<char>(scribbled[i] ^ 0x5a);
  for (const std::string& bad : {std::string(), std::string("no database at all\n"), torn, newer, scribbled}) {
    WriteBackup(bad);
    Result<RestoredCatalog> restored = Restore();
    EXPECT_FALSE(restored.ok());
    EXPECT_NE(restored.status().ToString().find(backup_), std::string::npos) << restored.status().ToString();
    EXPECT_EQ(restored.status().code(),
              bad.size() < 4096 || bad == newer ? ErrorCode::kBadInput : ErrorCode::kStorageBroken);
    EXPECT_FALSE(fs::exists(options_.layout.RestoredCatalogPath()));
    EXPECT_FALSE(fs::exists(options_.layout.RestoredCatalogPath() + ".partial"));
  }
  fs::remove(backup_);
  EXPECT_EQ(Restore().status().code(), ErrorCode::kNotFound);
  fs::create_directory(backup_);
  EXPECT_EQ(Restore().status().code(), ErrorCode::kBadInput);
  fs::remove(backup_);
  ASSERT_EQ(::mkfifo(backup_.c_str(), 0600), 0);
  EXPECT_EQ(Restore().status().code(), ErrorCode::kBadInput);
  EXPECT_EQ(Runs(), kOld);
}

// The old catalog or the new one, whole, whatever happens at whatever moment; the new one once it was said to be.
TEST_F(CatalogRestoreTest, SurvivesALossOfPowerAtAnyOperation) {
  MakeBackupAndGoOn();
  const int64_t ops = CountRestoreOps();
  ASSERT_GT(ops, 8);
  int old_ones = 0;
  int new_ones = 0;
  for (FaultPlan::Survives survives :
       {FaultPlan::Survives::kNothing, FaultPlan::Survives::kEverything, FaultPlan::Survives::kSome}) {
    for (int64_t at = 1; at <= ops + 1; ++at) {
      BeginAgain();
      disk_.plan.FailAt(at, Fault::kPowerCut);
      const bool said = Restore().ok();
      disk_.plan.RestoreSynced(survives, static_cast<uint64_t>(at));
      const std::set<std::string> runs = Runs();
      const bool is_new = runs == kBackedUp;
      ASSERT_TRUE(is_new || runs == kOld) << "at " << at;
      EXPECT_TRUE(is_new || !said) << "at " << at;
      ++(is_new ? new_ones : old_ones);
    }
  }
  EXPECT_GT(old_ones, 0);
  EXPECT_GT(new_ones, 0);
}

// The old catalog, with what is in its WAL, is in lost/ in the end, whichever of the two put it there.
TEST_F(CatalogRestoreTest, DoingItAgainAfterALossOfPowerAtAnyOperationLosesNothing) {
  MakeBackupAndGoOn();
  const int64_t ops = CountRestoreOps();
  int in_two_steps = 0;
  for (FaultPlan::Survives survives :
       {FaultPlan::Survives::kNothing, FaultPlan::Survives::kEverything, FaultPlan::Survives::kSome}) {
    for (int64_t at = 1; at <= ops + 1; ++at) {
      BeginAgain();
      disk_.plan.FailAt(at, Fault::kPowerCut);
      (void)Restore();
      disk_.plan.RestoreSynced(survives, static_cast<uint64_t>(at));
      if (fs::exists(options_.layout.RestoredCatalogPath())) {
        ++in_two_steps;
        // As if the first attempt had been long ago.
        fs::last_write_time(options_.layout.RestoredCatalogPath(),
                            fs::file_time_type::clock::now() - std::chrono::hours(1));
      }
      Result<RestoredCatalog> again = Restore();
      ASSERT_TRUE(again.ok()) << "at " << at << ": " << again.status().ToString();
      disk_.plan.RestoreSynced(FaultPlan::Survives::kEverything);
      EXPECT_EQ(Lost().count(kOld), 1u) << "at " << at;
      EXPECT_EQ(Runs(), kBackedUp) << "at " << at;
      EXPECT_FALSE(fs::exists(options_.layout.ReplacedFolder()));
    }
  }
  EXPECT_GT(in_two_steps, 10);
}

// A start that cannot complete an interrupted restore does not serve: not the old catalog, which is about to go, and
// not an empty one.
TEST_F(CatalogRestoreTest, AStartCompletesItOrDoesNotServe) {
  MakeBackupAndGoOn();
  const int64_t ops = CountRestoreOps();
  int interrupted = 0;
  int refused = 0;
  for (int64_t at = 1; at <= ops; ++at) {
    for (int64_t later = 1;; ++later) {
      BeginAgain();
      ASSERT_TRUE(SpaceReserve(disk_.files, options_.layout.ReservePath()).Fill().ok());
      disk_.plan.FailAt(at, Fault::kNoSpace, /*lasting=*/true);
      Result<RestoredCatalog> restored = Restore();
      disk_.plan.Heal();
      if (!fs::exists(options_.layout.RestoredCatalogPath())) break;
      ++interrupted;
      EXPECT_NE(restored.status().remedy().find("the next start"), std::string::npos);
      disk_.plan.FailAt(later, Fault::kNoSpace, /*lasting=*/true);
      const bool serves = Catalog::Open(options_, disk_.files).ok();
      const bool failed = disk_.plan.has_failed();
      disk_.plan.Heal();
      EXPECT_TRUE(!serves || !fs::exists(options_.layout.RestoredCatalogPath())) << at << ", then " << later;
      refused += serves ? 0 : 1;
      EXPECT_EQ(Runs(), kBackedUp) << at << ", then " << later;
      if (!failed) break;
    }
  }
  EXPECT_GT(interrupted, 10);
  EXPECT_GT(refused, 5);
}

TEST_F(CatalogRestoreTest, AFullDiskLeavesTheOldOneOrIsEndedByTheNextStart) {
  MakeBackupAndGoOn();
  const int64_t ops = CountRestoreOps();
  for (int64_t at = 1; at <= ops; ++at) {
    BeginAgain();
    disk_.plan.FailAt(at, Fault::kNoSpace, /*lasting=*/true);
    EXPECT_FALSE(Restore().ok() && disk_.plan.failed_op() != FaultPlan::Op::kTruncate &&
                 disk_.plan.failed_op() != FaultPlan::Op::kWrite)
        << "at " << at;
    disk_.plan.Heal();
    const std::set<std::string> runs = Runs();
    EXPECT_TRUE(runs == kBackedUp || runs == kOld) << "at " << at;
    EXPECT_TRUE(Restore().ok()) << "at " << at;
  }
}

}  // namespace
}  // namespace kprof
