#include "daemon/runs/imports/held_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/ingest/source/source_formats.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/faulty_disk.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class SourceSpoolTest : public testing::Test {
 protected:
  SourceSpoolTest() {
    Catalog::Options options;
    options.layout = Layout{folder_ / "state"};
    options.vfs = disk_.vfs.name();
    catalog_ = *Catalog::Open(options, disk_.files);
    KPROF_CHECK(disk_.files.CreateFolder(catalog_->layout().TemporaryFolder()).ok());
  }
  Result<std::unique_ptr<SourceSpool>> Begin(int64_t size_bytes = 0, bool may_be_none = true) {
    return SourceSpool::Begin(*catalog_, disk_.files, bytes_, 1000, {"a.json", size_bytes, may_be_none}, spool_limits_);
  }
  Places::Place Place() { return *places_.Take(1000, "test", "places"); }

  TemporaryFolder folder_;
  FaultyDisk disk_;
  std::unique_ptr<Catalog> catalog_;
  StorageLimits limits_;
  SpoolLimits spool_limits_;
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
  spool_limits_.source_bytes = int64_t{1} << 60;
  EXPECT_EQ(Begin(int64_t{1} << 60).status().code(), ErrorCode::kStorageFull);
}

TEST_F(SourceSpoolTest, TakesNoMoreThanASourceMayHave) {
  spool_limits_.source_bytes = 10;
  const Status announced = Begin(11).status();
  EXPECT_EQ(announced.code(), ErrorCode::kBadInput);
  EXPECT_THAT(announced.ToString(), HasSubstr("more than 10 bytes"));
  EXPECT_THAT(announced.ToString(), HasSubstr("[import] max_source_gigabytes"));
  auto spool = Begin();
  EXPECT_TRUE((*spool)->Add(std::string(10, 'x')).ok());
  EXPECT_EQ((*spool)->Add(std::string("x")).code(), ErrorCode::kBadInput);
  EXPECT_EQ(bytes_.bytes(), 10);
}

TEST_F(SourceSpoolTest, RefusesWhatBeginsAsNothingThatIsKnown) {
  auto spool = Begin(0, false);
  ASSERT_TRUE((*spool)->Add(std::string(kSniffBytes - 1, '\0')).ok());
  const Status refused = (*spool)->Add(std::string("x"));
  EXPECT_EQ(refused.code(), ErrorCode::kBadInput);
  EXPECT_THAT(refused.ToString(), HasSubstr("of no format that is known here"));
  EXPECT_THAT(refused.ToString(), HasSubstr("a.json"));
}

TEST_F(SourceSpoolTest, RefusesAtItsEndWhatIsShortAndOfNoKnownFormat) {
  auto spool = Begin(0, false);
  ASSERT_TRUE((*spool)->Add(std::string("rubbish")).ok());
  EXPECT_EQ((*spool)->Finish(7, Place()).status().code(), ErrorCode::kBadInput);
  EXPECT_TRUE((*Begin(0, false))->Finish(0, Place()).ok());  // which its reader says of itself
}

TEST_F(SourceSpoolTest, TakesWhatMayBeATrace) {
  for (const std::string first : {"{", " [", "\x1f\x8b", "\x28\xb5\x2f\xfd", "\xef\xbb\xbf{"}) {
    auto spool = Begin(0, false);
    for (const char c : first) ASSERT_TRUE((*spool)->Add(std::span(&c, 1)).ok());
    ASSERT_TRUE((*spool)->Add(std::string(2 * kSniffBytes, '\0')).ok());
  }
  auto spool = Begin(0, true);  // of a folder
  EXPECT_TRUE((*spool)->Add(std::string(2 * kSniffBytes, '\0')).ok());
}

TEST_F(SourceSpoolTest, LeavesTheLastRoomOfTheDiskToOthers) {
  spool_limits_.kept_free_bytes = 1000;
  const std::string piece(SourceSpool::kLookBytes / 4, 'x');
  disk_.files.SayFree(SourceSpool::kLookBytes + 999);
  EXPECT_EQ(Begin(SourceSpool::kLookBytes).status().code(), ErrorCode::kStorageFull);
  disk_.files.SayFree(999);
  EXPECT_TRUE(Begin(999).ok());
  auto spool = Begin();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*spool)->Add(piece).ok());
  const Status full = (*spool)->Add(piece);
  EXPECT_EQ(full.code(), ErrorCode::kStorageFull);
  EXPECT_THAT(full.ToString(), HasSubstr("1000 are left to other things"));
  EXPECT_THAT(full.ToString(), HasSubstr("make room on the disk"));
}

}  // namespace
}  // namespace kprof
