#include "daemon/ingest/source/text_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "daemon/ingest/source/source_hash.h"
#include "storage/base/descriptors.h"

namespace kprof {
namespace {

class PlainTextTest : public testing::Test {
 protected:
  void Open(const std::string& content) {
    fd_ = UniqueFd(::memfd_create("source", MFD_CLOEXEC));
    ASSERT_EQ(::write(fd_.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
    Result<SourceFile> file = SourceFile::Open(fd_.get(), "trace.json");
    ASSERT_TRUE(file.ok());
    file_.emplace(*std::move(file));
    text_ = OpenPlainText(*file_);
  }
  std::string Read(int64_t offset, size_t size) {
    std::string out(size, '?');
    const Result<size_t> got = text_->ReadAt(offset, out);
    return got.ok() ? out.substr(0, *got) : got.status().ToString();
  }
  std::string TrueHash() { return *HashSource(fd_.get(), {}); }

  UniqueFd fd_;
  std::optional<SourceFile> file_;
  std::unique_ptr<TextSource> text_;
};

TEST_F(PlainTextTest, IsTheFileAsItIs) {
  Open("0123456789");
  EXPECT_EQ(Read(0, 5), "01234");
  EXPECT_EQ(Read(7, 5), "789");
  EXPECT_EQ(Read(10, 5), "");
  EXPECT_EQ(Read(99, 5), "");
  text_->Release(10);
  EXPECT_EQ(Read(0, 3), "012");
  EXPECT_FALSE(text_->WhyCut());
  EXPECT_EQ(text_->SourceBytesAt(4), 4);
  EXPECT_EQ(text_->SourceBytesAt(400), 10);
}

TEST_F(PlainTextTest, AFileThatBecomesShorterEndsThereAndSaysSo) {
  Open("0123456789");
  ASSERT_EQ(::ftruncate(fd_.get(), 5), 0);
  EXPECT_EQ(Read(0, 5), "01234");
  EXPECT_FALSE(text_->WhyCut());  // nobody knows yet
  EXPECT_EQ(Read(0, 6), "01234");
  ASSERT_TRUE(text_->WhyCut());
  EXPECT_EQ(text_->WhyCut()->ToString(),
            "read trace.json: it became shorter while it was read: of its 10 bytes only 5 were there");
  ASSERT_EQ(::pwrite(fd_.get(), "0123456789", 10, 0), 10);  // what comes later does not count
  EXPECT_EQ(Read(4, 6), "4");
  EXPECT_EQ(*text_->FinishHash({}), "");
}

TEST_F(PlainTextTest, AFileThatBecomesShorterWhereNobodyReadsHasNoHash) {
  Open(std::string(2 * kHashBlockBytes, 'x'));
  Read(0, kHashBlockBytes);
  ASSERT_EQ(::ftruncate(fd_.get(), kHashBlockBytes + 1), 0);
  EXPECT_EQ(*text_->FinishHash({}), "");
  EXPECT_TRUE(text_->WhyCut());
}

TEST_F(PlainTextTest, AFileThatBecomesLongerEndsWhereItDid) {
  Open("0123456789");
  ASSERT_EQ(::write(fd_.get(), "more", 4), 4);
  EXPECT_EQ(Read(7, 50), "789");
}

TEST_F(PlainTextTest, TheHashIsTheSourcesHoweverItWasRead) {
  const std::string content(2 * kHashBlockBytes + 1000, 'x');
  Open(content);
  EXPECT_EQ(*text_->FinishHash({}), TrueHash());  // nothing was read
  Open(content);
  Read(0, 100);                                // parts of a block
  Read(kHashBlockBytes + 1, kHashBlockBytes);  // of two
  Read(2 * kHashBlockBytes, kHashBlockBytes);  // the last one, as whole as it is
  Read(0, kHashBlockBytes + 5);
  EXPECT_EQ(*text_->FinishHash({}), TrueHash());
}

TEST_F(PlainTextTest, ManyThreadsReadTheSameBlocks) {
  Open(std::string(2 * kHashBlockBytes, 'y'));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<char> out(kHashBlockBytes);
      EXPECT_EQ(*text_->ReadAt(0, out), kHashBlockBytes);
      EXPECT_EQ(*text_->ReadAt(kHashBlockBytes, out), kHashBlockBytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*text_->FinishHash({}), TrueHash());
}

TEST_F(PlainTextTest, OnceStoppedTheHashIsCancelled) {
  Open("0123456789");
  std::stop_source stop;
  stop.request_stop();
  const Result<std::string> hash = text_->FinishHash(stop.get_token());
  ASSERT_FALSE(hash.ok());
  EXPECT_EQ(hash.status().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kprof
