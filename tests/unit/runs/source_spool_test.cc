#include "daemon/runs/source_spool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/faulty_disk.h"

namespace kprof {
namespace {

class SourceSpoolTest : public testing::Test {
 protected:
  SourceSpoolTest() {
    Catalog::Options options;
    options.layout = Layout{folder_ / "state"};
    options.vfs = disk_.vfs.name();
    catalog_ = *Catalog::Open(options, disk_.files);
    KPROF_CHECK(disk_.files.CreateFolder(catalog_->layout().TemporaryFolder()).ok());
  }
  Result<std::unique_ptr<SourceSpool>> Begin(int64_t size_bytes = 0) {
    return SourceSpool::Begin(*catalog_, disk_.files, bytes_, 1000, "a.json", size_bytes);
  }
  Places::Place Place() { return *places_.Take(1000, "test", "places"); }

  TemporaryFolder folder_;
  FaultyDisk disk_;
  std::unique_ptr<Catalog> catalog_;
  StorageLimits limits_;
  UploadBytes bytes_{limits_};
  Places places_{{.limit = 10, .limit_per_uid = 10}};
};

TEST_F(SourceSpoolTest, KeepsTheBytesInAFileWithoutAName) {
  Result<std::unique_ptr<SourceSpool>> spool = Begin();
  ASSERT_TRUE(spool.ok()) << spool.status().ToString();
  EXPECT_TRUE(disk_.files.List(catalog_->layout().TemporaryFolder())->empty());
  ASSERT_TRUE((*spool)->Add(std::string("12345")).ok());
  ASSERT_TRUE((*spool)->Add(std::string("678")).ok());
  Result<HeldSource> source = (*spool)->Finish(8, Place());
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  spool->reset();
  std::string read(10, '.');
  EXPECT_EQ(::pread(source->fd.get(), read.data(), read.size(), 0), 8);
  EXPECT_EQ(read.substr(0, 8), "12345678");
  EXPECT_EQ(bytes_.bytes(), 8);
  *source = HeldSource();
  EXPECT_EQ(bytes_.bytes(), 0);
}

TEST_F(SourceSpoolTest, RefusesAnotherNumberOfBytesThanWasSent) {
  auto spool = Begin();
  ASSERT_TRUE((*spool)->Add(std::string("12345")).ok());
  EXPECT_EQ((*spool)->Finish(6, Place()).status().code(), ErrorCode::kBadInput);
  spool->reset();
  EXPECT_EQ(bytes_.bytes(), 0);
}

TEST_F(SourceSpoolTest, KeepsToTheLimitOfItsOwner) {
  StorageLimits::Values values{};
  values.bytes_per_uid = 6;
  limits_.Set(values);
  EXPECT_EQ(Begin(7).status().code(), ErrorCode::kStorageFull);
  auto spool = Begin(6);
  ASSERT_TRUE((*spool)->Add(std::string("12345")).ok());
  EXPECT_EQ((*spool)->Add(std::string("67")).code(), ErrorCode::kStorageFull);
  EXPECT_EQ(bytes_.bytes(), 5);
}

TEST_F(SourceSpoolTest, FailsOnAFullDiskAndLeavesNothing) {
  auto spool = Begin();
  disk_.plan.FailAt(1, Fault::kNoSpace);
  EXPECT_EQ((*spool)->Add(std::string("12345")).code(), ErrorCode::kStorageFull);
  EXPECT_TRUE(disk_.files.List(catalog_->layout().TemporaryFolder())->empty());
  EXPECT_EQ(Begin(int64_t{1} << 60).status().code(), ErrorCode::kStorageFull);
}

}  // namespace
}  // namespace kprof
