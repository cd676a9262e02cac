#include "daemon/ingest/source/source_hash.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

UniqueFd FileOf(const std::string& content) {
  UniqueFd fd(::memfd_create("source", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
  return fd;
}

std::string HashOf(const std::string& content) {
  const Result<std::string> hash = HashSource(FileOf(content).get(), {});
  return hash.ok() ? *hash : hash.status().ToString();
}

TEST(SourceHash, OfTheSameBytesIsTheSameAndOfOthersAnother) {
  const std::string content(kHashBlockBytes + 3, 'a');
  EXPECT_EQ(HashOf(content), HashOf(content));
  std::string other = content;
  other.back() = 'b';
  EXPECT_NE(HashOf(content), HashOf(other));
  other = content;
  other.front() = 'b';
  EXPECT_NE(HashOf(content), HashOf(other));
  EXPECT_NE(HashOf(content), HashOf(content.substr(1)));
}

TEST(SourceHash, IsTheSizeAnd32Digits) {
  const std::string hash = HashOf("12345");
  EXPECT_EQ(hash.substr(0, 2), "5-");
  EXPECT_EQ(hash.size(), 34u);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef", 2), hash.npos);
  EXPECT_EQ(HashOf("").substr(0, 2), "0-");
}

// It is kept in catalogs: another way to make it would have everything imported twice.
TEST(SourceHash, IsTheOneThatItAlwaysWas) {
  EXPECT_EQ(HashOf("kprof"), "5-96ff48c90f73a7ac40d78ea20dd93e43");
}

TEST(SourceHash, BlocksMayBeAddedInAnyOrder) {
  std::string content(2 * kHashBlockBytes + 100, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 >> 3);
  const auto size = static_cast<int64_t>(content.size());
  SourceHash hash;
  ASSERT_EQ(SourceHash::BlocksOf(size), 3u);
  for (const size_t block : {2, 0, 1}) {
    const size_t begin = block * kHashBlockBytes;
    hash.AddBlock(block, {content.data() + begin, std::min(kHashBlockBytes, content.size() - begin)});
  }
  EXPECT_EQ(hash.Finish(size), HashOf(content));
}

TEST(SourceHash, ASourceOfWholeBlocksHasNoEmptyOne) {
  EXPECT_EQ(SourceHash::BlocksOf(0), 0u);
  EXPECT_EQ(SourceHash::BlocksOf(1), 1u);
  EXPECT_EQ(SourceHash::BlocksOf(kHashBlockBytes), 1u);
  EXPECT_EQ(SourceHash::BlocksOf(kHashBlockBytes + 1), 2u);
}

TEST(SourceHash, OnceStoppedItIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const Result<std::string> hash = HashSource(FileOf("12345").get(), stop.get_token());
  ASSERT_FALSE(hash.ok());
  EXPECT_EQ(hash.status().code(), ErrorCode::kCancelled);
}

TEST(SourceHash, OfAFileThatBecomesShorterThereIsNone) {
  const UniqueFd fd = FileOf("12345");
  const Result<SourceFile> file = SourceFile::Open(fd.get(), "trace.json");
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::ftruncate(fd.get(), 4), 0);
  EXPECT_EQ(*HashSource(*file, {}), "");
}

TEST(SourceHash, WhatCannotBeReadFails) {
  EXPECT_FALSE(HashSource(-1, {}).ok());
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_FALSE(HashSource(directory.get(), {}).ok());
}

}  // namespace
}  // namespace kprof
