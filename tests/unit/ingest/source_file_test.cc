#include "daemon/ingest/source/source_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "storage/base/descriptors.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/ingest/growing_source.h"

namespace kprof {
namespace {

class SourceFileTest : public testing::Test {
 protected:
  UniqueFd Make(const std::string& content, int flags = O_RDONLY) {
    std::ofstream(folder_ / "source") << content;
    return UniqueFd(::open((folder_ / "source").c_str(), flags | O_CLOEXEC));
  }
  static std::string Read(const SourceFile& file, int64_t offset, size_t size) {
    std::string out(size, '?');
    const Result<size_t> got = file.ReadAt(offset, out);
    return got.ok() ? out.substr(0, *got) : got.status().ToString();
  }

  TemporaryFolder folder_;
};

TEST_F(SourceFileTest, IsReadFromAnywhere) {
  const UniqueFd fd = Make("0123456789");
  const Result<SourceFile> file = SourceFile::Open(fd.get(), "trace.json");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->name(), "trace.json");
  EXPECT_EQ(file->size_bytes(), 10);
  EXPECT_EQ(Read(*file, 0, 4), "0123");
  EXPECT_EQ(Read(*file, 8, 4), "89");
  EXPECT_EQ(Read(*file, 10, 4), "");
  EXPECT_EQ(Read(*file, 1000, 4), "");
}

TEST_F(SourceFileTest, TheDescriptorsOwnPlaceIsLeftAlone) {
  const UniqueFd fd = Make("0123456789");
  ASSERT_EQ(::lseek(fd.get(), 3, SEEK_SET), 3);
  const Result<SourceFile> file = SourceFile::Open(fd.get(), "trace.json");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(Read(*file, 0, 2), "01");
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), 3);
}

TEST_F(SourceFileTest, OneThatBecomesShorterEndsEarly) {
  const UniqueFd fd = Make("0123456789", O_RDWR);
  const Result<SourceFile> file = SourceFile::Open(fd.get(), "trace.json");
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::ftruncate(fd.get(), 5), 0);
  EXPECT_EQ(file->size_bytes(), 10);
  EXPECT_EQ(Read(*file, 3, 4), "34");
}

TEST_F(SourceFileTest, OneThatStillComesIsWaitedFor) {
  GrowingSource source;
  source.Add("01234");
  const Result<SourceFile> file = SourceFile::OpenGrowing(source.fd(), "trace.json", source.growth());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(Read(*file, 1, 4), "1234");
  EXPECT_GT(file->size_bytes(), int64_t{1} << 60);  // that is not known
  std::string read;
  std::thread reader([&] { read = Read(*file, 3, 4); });
  source.Add("5");
  source.Add("6789");
  reader.join();
  EXPECT_EQ(read, "3456");
}

TEST_F(SourceFileTest, OneThatHasComeEndsWhereItEnds) {
  GrowingSource source;
  const Result<SourceFile> file = SourceFile::OpenGrowing(source.fd(), "trace.json", source.growth());
  std::string read;
  std::string behind;
  std::thread reader([&] {
    read = Read(*file, 3, 100);
    behind = Read(*file, 30, 100);
    EXPECT_TRUE(file->WaitUntilWhole().ok());
  });
  source.Add("01234");
  source.Add("56789", true);
  reader.join();
  EXPECT_EQ(read, "3456789");
  EXPECT_EQ(behind, "");
  EXPECT_EQ(file->size_bytes(), 10);
}

TEST_F(SourceFileTest, OneThatBreaksOffFailsWhoWaitsAndNobodyElse) {
  GrowingSource source;
  source.Add("01234");
  const Result<SourceFile> file = SourceFile::OpenGrowing(source.fd(), "trace.json", source.growth());
  std::string read;
  std::thread reader([&] { read = Read(*file, 3, 4); });
  source.growth().BreakOff();
  reader.join();
  EXPECT_EQ(read, "wait for more of it: it broke off");
  EXPECT_EQ(Read(*file, 3, 2), "34");
  EXPECT_EQ(file->WaitUntilWhole().code(), ErrorCode::kCancelled);
}

TEST_F(SourceFileTest, WhatIsNoRegularFileIsRefused) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const UniqueFd fifo(::open((folder_ / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const UniqueFd directory(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd device(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const UniqueFd* fd : {&fifo, &directory, &device, &socket}) {
    const Result<SourceFile> file = SourceFile::Open(fd->get(), "odd");
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().code(), ErrorCode::kBadInput);
    EXPECT_EQ(file.status().what(), "read odd");
  }
}

TEST_F(SourceFileTest, ADescriptorThatIsNotOpenFails) {
  const Result<SourceFile> file = SourceFile::Open(-1, "none");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().what(), "look at none");
}

TEST_F(SourceFileTest, OneThatMayNotBeReadFailsAndSaysWhere) {
  const UniqueFd fd = Make("0123456789", O_WRONLY);
  const Result<SourceFile> file = SourceFile::Open(fd.get(), "trace.json");
  ASSERT_TRUE(file.ok());
  char byte = 0;
  const Result<size_t> got = file->ReadAt(7, {&byte, 1});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().what(), "read trace.json at byte 7");
}

}  // namespace
}  // namespace kprof
