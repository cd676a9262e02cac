#include "daemon/ingest/source_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "storage/base/unique_fd.h"
#include "tests/fakes/base/temporary_folder.h"

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
