#include "storage/trace/read/part_pool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/made_part.h"

namespace kprof {
namespace {

class PartPoolTest : public ::testing::Test {
 protected:
  PartPoolTest() { Write("a.trace.db", 3); }

  std::string Write(const std::string& name, int64_t slices) {
    MadePart part(8);
    part.AddTrack({.kind = "cpu_thread", .name = "main"});
    for (int64_t i = 0; i < slices; ++i) part.Add(EventKind::kSlice, {.time_ns = i, .duration_ns = 1, .name = "x"});
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    part.Write(folder_ / name);
    return folder_ / name;
  }
  static PartLease Must(Result<PartLease> lease) {
    EXPECT_TRUE(lease.ok()) << lease.status().ToString();
    return *std::move(lease);
  }

  TemporaryFolder folder_;
  ColumnCache columns_{1 << 20};
  const std::string path_ = folder_ / "a.trace.db";
};

TEST_F(PartPoolTest, LendsTheSameReaderAgain) {
  PartPool pool(columns_);
  const PartReader* first = Must(pool.Borrow(path_)).get();
  EXPECT_EQ(pool.idle(), 1u);
  EXPECT_EQ(Must(pool.Borrow(path_)).get(), first);
}

TEST_F(PartPoolTest, LendsEachReaderToOneAtATime) {
  PartPool pool(columns_);
  const PartLease first = Must(pool.Borrow(path_));
  const PartLease second = Must(pool.Borrow(path_));
  EXPECT_NE(first.get(), second.get());
}

TEST_F(PartPoolTest, KeepsTheLastOnesOnly) {
  PartPool pool(columns_, {.most_idle = 2});
  std::vector<PartLease> leases;
  for (int i = 0; i < 5; ++i) leases.push_back(Must(pool.Borrow(path_)));
  leases.clear();
  EXPECT_EQ(pool.idle(), 2u);
}

TEST_F(PartPoolTest, KeepsNoneWhereNoneIsToBeKept) {
  PartPool pool(columns_, {.most_idle = 0});
  Must(pool.Borrow(path_));
  EXPECT_EQ(pool.idle(), 0u);
}

TEST_F(PartPoolTest, ClosesWhatNobodyAskedForLately) {
  PartPool patient(columns_);
  Must(patient.Borrow(path_));
  patient.CloseOld();
  EXPECT_EQ(patient.idle(), 1u);
  PartPool hasty(columns_, {.idle_ms = 0});
  Must(hasty.Borrow(path_));
  hasty.CloseOld();
  EXPECT_EQ(hasty.idle(), 0u);
}

TEST_F(PartPoolTest, ClosesWhatIsBelowAFolder) {
  PartPool pool(columns_);
  const std::string below = Write("run1/trace.trace.db", 1);
  const std::string beside = Write("run10/trace.trace.db", 1);
  Must(pool.Borrow(below));
  Must(pool.Borrow(beside));
  pool.CloseBelow(folder_ / "run1");
  EXPECT_EQ(pool.idle(), 1u);
}

TEST_F(PartPoolTest, DoesNotKeepWhatComesBackFromAFileThatHasGone) {
  PartPool pool(columns_);
  PartLease lease = Must(pool.Borrow(path_));
  std::filesystem::remove(path_);
  lease.reset();
  EXPECT_EQ(pool.idle(), 0u);
}

TEST_F(PartPoolTest, ReadsTheFileThatIsThereNow) {
  PartPool pool(columns_);
  EXPECT_EQ(Must(pool.Borrow(path_))->rows(EventKind::kSlice), 3);
  Write("b.trace.db", 5);
  std::filesystem::rename(folder_ / "b.trace.db", path_);
  EXPECT_EQ(Must(pool.Borrow(path_))->rows(EventKind::kSlice), 5);
  std::filesystem::remove(path_);
  EXPECT_EQ(pool.Borrow(path_).status().code(), ErrorCode::kNotFound);
}

TEST_F(PartPoolTest, ForgetsTheColumnsOfAPartThatGoes) {
  PartPool pool(columns_);
  const std::string identity = Must(pool.Borrow(path_))->identity();
  const ColumnCache::Key key{columns_.NumberOf(identity), 1};
  columns_.Put(key, std::make_shared<const std::vector<int64_t>>(100));
  pool.CloseBelow(folder_ / "other");
  EXPECT_NE(columns_.Find(key), nullptr);
  pool.CloseBelow(path_);
  EXPECT_EQ(columns_.Find(key), nullptr);
}

}  // namespace
}  // namespace kprof
