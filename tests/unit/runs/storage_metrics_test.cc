#include "daemon/runs/run_metrics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "storage/catalog/run_table.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/faulty_disk.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

class StorageMetricsTest : public testing::Test {
 protected:
  StorageMetricsTest() {
    Catalog::Options options;
    options.layout = Layout{folder_ / "state"};
    options.vfs = disk_.vfs.name();
    options.writer.on_commit = [this](int64_t took_ns, size_t changes, const Status& status) {
      storage_metrics_.OnCommit(took_ns, changes, status);
    };
    catalog_ = *Catalog::Open(options, disk_.files);
    storage_metrics_.LookAt(*catalog_, disk_.files);
  }

  double Read(const std::string& name) {
    const std::string text = "\n" + metrics_.Text();
    const size_t at = text.find("\n" + name + " ");
    EXPECT_NE(at, text.npos) << name << " in " << text;
    return at == text.npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  }
  Status Store(const RunRow& row) {
    return catalog_->writer().SubmitAndWait([&](Db& db) { return InsertRun(db, row); });
  }

  TemporaryFolder folder_;
  FaultyDisk disk_;
  Metrics metrics_;
  StorageMetrics storage_metrics_{metrics_};
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(StorageMetricsTest, SeeTheCatalogGrow) {
  const double wal_before = Read("kprof_catalog_wal_size_bytes");
  RunRow row = EndedRun("01j00000000000000000000001", 1, 2);
  row.artifacts = {{"report", 123, "00"}};
  ASSERT_TRUE(Store(row).ok());
  EXPECT_EQ(Read("kprof_stored_runs"), 1);
  EXPECT_EQ(Read("kprof_artifacts_size_bytes"), 123);
  EXPECT_GT(Read("kprof_catalog_wal_size_bytes"), wal_before);
  EXPECT_GT(Read("kprof_catalog_size_bytes"), 0);
  EXPECT_GT(Read("kprof_state_free_bytes"), 0);
}

TEST_F(StorageMetricsTest, CountCommitsThatFail) {
  ASSERT_TRUE(Store(EndedRun("01j00000000000000000000001", 1, 2)).ok());
  const double commits = Read("kprof_catalog_commit_seconds_count");
  const double changes = Read("kprof_catalog_changes_total");
  EXPECT_GE(changes, 1);
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  ASSERT_FALSE(Store(EndedRun("01j00000000000000000000002", 1, 2)).ok());
  disk_.plan.Heal();
  EXPECT_GE(Read("kprof_catalog_commit_failures_total"), 1);
  EXPECT_GT(Read("kprof_catalog_commit_seconds_count"), commits);
  EXPECT_EQ(Read("kprof_catalog_changes_total"), changes);
}

}  // namespace
}  // namespace kprof
