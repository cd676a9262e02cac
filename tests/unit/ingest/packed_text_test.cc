#include "daemon/ingest/source/text_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/ingest/source/source_hash.h"
#include "storage/base/descriptors.h"
#include "tests/fakes/base/no_more_threads.h"
#include "tests/fakes/ingest/packed.h"

namespace kprof {
namespace {

constexpr auto kBlock = static_cast<int64_t>(kTextBlockBytes);

// Each place of it is told from others.
std::string TextLines(size_t size) {
  std::string text;
  text.reserve(size + 16);
  for (uint32_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2654435761u) + "\n";
  text.resize(size);
  return text;
}

// A deflated text of so many zeros (the digit), a repetition of the longest kind of what would have to be before them,
// and more zeros.
std::string GzipThatRepeatsNothing(size_t zeros) {
  std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  uint32_t bits = 0;
  int count = 0;
  const auto add_bit = [&](uint32_t bit) {
    bits |= bit << count;
    if (++count < 8) return;
    packed += static_cast<char>(bits);
    bits = 0;
    count = 0;
  };
  const auto add_code = [&](uint32_t code, int size) {  // from its highest bit on
    while (size-- > 0) add_bit(code >> size & 1);
  };
  add_code(0b110, 3);  // the last block, of the codes that each decoder knows
  for (size_t i = 0; i < zeros; ++i) add_code(0x30 + '0', 8);
  add_code(0b11000101, 8);  // 258 bytes
  add_code(0b11101, 5);     // from 24,577 before, and
  add_code(0, 13);          // none more
  for (size_t i = 0; i < 2000; ++i) add_code(0x30 + '0', 8);
  return packed;
}

class PackedTextFixture {
 public:
  void Open(const std::string& source, std::unique_ptr<Unpacker> unpacker, const PackedTextLimits& limits = {}) {
    text_.reset();
    fd_ = UniqueFd(::memfd_create("source", MFD_CLOEXEC));
    KPROF_CHECK(::write(fd_.get(), source.data(), source.size()) == static_cast<ssize_t>(source.size()));
    file_.emplace(*SourceFile::Open(fd_.get(), "trace.json.gz"));
    text_ = OpenPackedText(*file_, std::move(unpacker), limits);
  }
  std::string Read(int64_t offset, size_t size) {
    std::string out(size, '?');
    const Result<size_t> got = text_->ReadAt(offset, out);
    return got.ok() ? out.substr(0, *got) : got.status().ToString();
  }
  // From its beginning, releasing what is behind.
  std::string ReadAll() {
    std::string all;
    while (true) {
      const std::string next = Read(static_cast<int64_t>(all.size()), 1'000'000);
      all += next;
      text_->Release(static_cast<int64_t>(all.size()));
      if (next.size() < 1'000'000) return all;
    }
  }

  UniqueFd fd_;
  std::optional<SourceFile> file_;
  std::unique_ptr<TextSource> text_;
};

class PackedTextTest : public testing::Test, public PackedTextFixture {};

struct Packing {
  std::string name;
  std::function<std::string(const std::string&)> pack;
  std::function<std::unique_ptr<Unpacker>()> unpacker;
};

class EachPackingTest : public testing::TestWithParam<Packing>, public PackedTextFixture {
 protected:
  std::string Pack(const std::string& text) const { return GetParam().pack(text); }
  void OpenPacked(const std::string& source, const PackedTextLimits& limits = {}) {
    Open(source, GetParam().unpacker(), limits);
  }
};

INSTANTIATE_TEST_SUITE_P(Packings, EachPackingTest,
                         testing::Values(Packing{"gzip", Gzip, MakeGzipUnpacker},
                                         Packing{"zstd", Zstd, MakeZstdUnpacker}),
                         [](const auto& info) { return info.param.name; });

TEST_P(EachPackingTest, TheTextIsWhatWasPacked) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, kTextBlockBytes - 1, kTextBlockBytes,
                            kTextBlockBytes + 1, 3 * kTextBlockBytes}) {
    const std::string text = TextLines(size);
    OpenPacked(Pack(text));
    EXPECT_TRUE(ReadAll() == text) << size;
    EXPECT_FALSE(text_->WhyCut()) << size << " " << text_->WhyCut()->ToString();
  }
}

TEST_P(EachPackingTest, IsReadFromAnywhere) {
  const std::string text = TextLines(2 * kTextBlockBytes + 100);
  OpenPacked(Pack(text));
  EXPECT_EQ(Read(kBlock - 3, 6), text.substr(kTextBlockBytes - 3, 6));
  EXPECT_EQ(Read(2 * kBlock + 95, 10), text.substr(2 * kTextBlockBytes + 95));
  EXPECT_EQ(Read(0, 5), text.substr(0, 5));
  EXPECT_EQ(Read(2 * kBlock + 100, 10), "");
  EXPECT_EQ(Read(9 * kBlock, 10), "");
}

TEST_P(EachPackingTest, SeveralOneBehindTheOtherAreOneText) {
  const std::string a = TextLines(100);
  const std::string b = TextLines(kTextBlockBytes + 7);
  OpenPacked(Pack(a) + Pack("") + Pack(b) + Pack(a));
  EXPECT_TRUE(ReadAll() == a + b + a);
  EXPECT_FALSE(text_->WhyCut());
}

TEST_P(EachPackingTest, OneThatIsCutIsKeptUpToThereAndSaysSo) {
  const std::string text = TextLines(20'000);
  const std::string packed = Pack(text);
  for (size_t size = 1; size < packed.size();
       size += std::max<size_t>(1, std::min(packed.size() - 1 - size, packed.size() / 50))) {
    OpenPacked(packed.substr(0, size));
    const std::string kept = ReadAll();
    EXPECT_TRUE(text.starts_with(kept)) << size;
    ASSERT_TRUE(text_->WhyCut()) << size;
    EXPECT_EQ(text_->WhyCut()->code(), ErrorCode::kBadInput);
    EXPECT_NE(text_->WhyCut()->why().find("cut off"), std::string::npos) << text_->WhyCut()->ToString();
  }
}

TEST_P(EachPackingTest, OneThatIsDamagedIsKeptUpToThereAndSaysSo) {
  const std::string text = TextLines(3'000'000);
  std::string packed = Pack(text);
  for (size_t i = 0; i < 64; ++i)
    packed[packed.size() / 2 + i] = static_cast<char>(~packed[packed.size() / 2 + i] * 13);
  OpenPacked(packed);
  const std::string kept = ReadAll();
  ASSERT_TRUE(text_->WhyCut());
  EXPECT_EQ(text_->WhyCut()->code(), ErrorCode::kBadInput);
  const size_t same =
      static_cast<size_t>(std::mismatch(kept.begin(), kept.end(), text.begin(), text.end()).first - kept.begin());
  EXPECT_GT(same, text.size() / 4);
}

TEST_P(EachPackingTest, AWrongChecksumAtTheEndTakesNothingOfTheText) {
  const std::string text = TextLines(1'000'000);
  std::string packed = Pack(text);
  const size_t of_checksum = packed.size() - (GetParam().name == "gzip" ? 8 : 4);
  packed[of_checksum] = static_cast<char>(~packed[of_checksum]);
  OpenPacked(packed);
  EXPECT_TRUE(ReadAll() == text);
  ASSERT_TRUE(text_->WhyCut());
  EXPECT_NE(text_->WhyCut()->why().find("checksum"), std::string::npos) << text_->WhyCut()->why();
}

TEST_P(EachPackingTest, WhatStandsBehindAndIsNotPackedSaysSo) {
  const std::string packed = Pack("text");
  for (const std::string& behind :
       {std::string("something else"), std::string("\n"), GetParam().pack("x").substr(0, 1) + "y"}) {
    OpenPacked(packed + behind);
    EXPECT_EQ(ReadAll(), "text");
    ASSERT_TRUE(text_->WhyCut());
    EXPECT_EQ(text_->WhyCut()->why(), "from byte " + std::to_string(packed.size()) +
                                          " of the file on, behind what is packed, stands what is no " +
                                          GetParam().name);
  }
}

TEST_P(EachPackingTest, MoreTextThanMayBeIsCut) {
  const std::string text(5 * kTextBlockBytes, 'a');
  OpenPacked(Pack(text), {.text_bytes = kBlock + 1});
  const std::string kept = ReadAll();
  EXPECT_TRUE(text.starts_with(kept));
  EXPECT_EQ(kept.size(), 2 * kTextBlockBytes);
  ASSERT_TRUE(text_->WhyCut());
  EXPECT_NE(text_->WhyCut()->why().find("more than 4 MiB of text"), std::string::npos) << text_->WhyCut()->why();
}

TEST_P(EachPackingTest, ABombIsCut) {
  const std::string text(8 * kTextBlockBytes, 'a');
  OpenPacked(Pack(text), {.most_ratio = 20, .least_bytes_of_ratio = 2 * kBlock});
  const std::string kept = ReadAll();
  EXPECT_EQ(kept.size(), 3 * kTextBlockBytes);
  ASSERT_TRUE(text_->WhyCut());
  EXPECT_NE(text_->WhyCut()->why().find("more than 20 times"), std::string::npos) << text_->WhyCut()->why();
}

TEST_P(EachPackingTest, WhoIsFarAheadIsServed) {
  const std::string text = TextLines(7 * kTextBlockBytes);
  OpenPacked(Pack(text), {.blocks_ahead = 2});
  EXPECT_EQ(Read(6 * kBlock, 20), text.substr(6 * kTextBlockBytes, 20));
  EXPECT_EQ(Read(0, 20), text.substr(0, 20));  // and nobody behind lost anything
  EXPECT_TRUE(ReadAll() == text);
}

TEST_P(EachPackingTest, ManyReadAtOnce) {
  const std::string text = TextLines(4 * kTextBlockBytes);
  OpenPacked(Pack(text), {.blocks_ahead = 2});
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(Read(static_cast<int64_t>(i) * kBlock, kTextBlockBytes) ==
                  text.substr(i * kTextBlockBytes, kTextBlockBytes));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(EachPackingTest, WhereNoThreadCanBeStartedWhoReadsUnpacks) {
  for (const size_t size : {size_t{0}, size_t{1000}, kTextBlockBytes, 3 * kTextBlockBytes + 1}) {
    const std::string text = TextLines(size);
    const NoMoreThreads none;
    OpenPacked(Pack(text), {.blocks_ahead = 1});
    EXPECT_TRUE(ReadAll() == text) << size;
    EXPECT_FALSE(text_->WhyCut()) << size;
    EXPECT_EQ(*text_->FinishHash({}), *HashSource(fd_.get(), {})) << size;
  }
}

TEST_P(EachPackingTest, WhereNoThreadCouldBeStartedManyReadAtOnceToo) {
  const std::string text = TextLines(4 * kTextBlockBytes);
  {
    const NoMoreThreads none;
    OpenPacked(Pack(text), {.blocks_ahead = 2});
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(Read(static_cast<int64_t>(i) * kBlock, kTextBlockBytes) ==
                  text.substr(i * kTextBlockBytes, kTextBlockBytes));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(EachPackingTest, WhereNoThreadCanBeStartedACutOneIsKeptUpToThereAndSaysSo) {
  const std::string text = TextLines(kTextBlockBytes + 20'000);
  const std::string packed = Pack(text);
  const NoMoreThreads none;
  OpenPacked(packed.substr(0, packed.size() - 100));
  const std::string kept = ReadAll();
  EXPECT_TRUE(text.starts_with(kept));
  EXPECT_GE(kept.size(), kTextBlockBytes);
  ASSERT_TRUE(text_->WhyCut());
  EXPECT_EQ(text_->WhyCut()->code(), ErrorCode::kBadInput);
}

TEST_P(EachPackingTest, TheHashIsTheSourcesHoweverMuchWasRead) {
  const std::string packed = Pack(TextLines(1000)) + std::string(2 * kHashBlockBytes, '\0');
  OpenPacked(packed);
  const std::string hash = *HashSource(fd_.get(), {});
  EXPECT_EQ(*text_->FinishHash({}), hash);
  OpenPacked(packed);
  ReadAll();
  EXPECT_EQ(*text_->FinishHash({}), hash);
}

TEST_P(EachPackingTest, WhatIsPackedOtherwiseIsNoText) {
  OpenPacked("PK\x03\x04 and so on, none of both");
  EXPECT_EQ(ReadAll(), "");
  EXPECT_TRUE(text_->WhyCut());
}

TEST_F(PackedTextTest, ARepetitionOfNothingAddsNothing) {
  const size_t zeros = 20'000;
  Open(GzipThatRepeatsNothing(zeros), MakeGzipUnpacker());
  const std::string kept = ReadAll();
  ASSERT_TRUE(text_->WhyCut());
  EXPECT_EQ(text_->WhyCut()->why(), "it refers to what was before it began");
  EXPECT_GE(kept.size(), zeros - 400);
  EXPECT_EQ(kept, std::string(std::min(kept.size(), zeros), '0'));
}

TEST_F(PackedTextTest, ZerosBehindAGzipAreNoText) {
  Open(Gzip("text") + std::string(10'000, '\0'), MakeGzipUnpacker());
  EXPECT_EQ(ReadAll(), "text");
  EXPECT_FALSE(text_->WhyCut());
}

TEST_F(PackedTextTest, AZstdWithAWindowOfGigabytesIsRefused) {
  // Magic, a frame that is no single segment, and a window of 2 GiB.
  Open(std::string("\x28\xb5\x2f\xfd\x00\xa8", 6) + std::string(100, 'x'), MakeZstdUnpacker());
  EXPECT_EQ(ReadAll(), "");
  EXPECT_TRUE(text_->WhyCut());
}

// A frame that readers skip, with whatever its tool says there.
std::string SkippableFrame(char kind, const std::string& content) {
  const auto size = static_cast<uint32_t>(content.size());
  std::string frame{static_cast<char>(0x50 | kind), '\x2a', '\x4d', '\x18'};
  for (int i = 0; i < 4; ++i) frame += static_cast<char>(size >> (8 * i) & 0xff);
  return frame + content;
}

TEST_F(PackedTextTest, FramesOfAZstdThatAreToBeSkippedAreNoText) {
  const std::string a = TextLines(1000);
  const std::string b = TextLines(kTextBlockBytes + 7);
  const std::string source = SkippableFrame(0, "1234") + Zstd(a) + SkippableFrame(15, std::string(100'000, 'x')) +
                             SkippableFrame(7, "") + Zstd(b) + SkippableFrame(3, "end");
  EXPECT_TRUE(LooksLikeZstd(source));
  Open(source, MakeZstdUnpacker());
  EXPECT_TRUE(ReadAll() == a + b);
  EXPECT_FALSE(text_->WhyCut());
  Open(source.substr(0, source.size() - 1), MakeZstdUnpacker());
  EXPECT_TRUE(ReadAll() == a + b);
  EXPECT_TRUE(text_->WhyCut());
}

TEST_F(PackedTextTest, WhatToolsMakeIsKnownByItsFirstBytes) {
  const std::string gzip = Gzip("text");
  const std::string zstd = Zstd("text");
  EXPECT_TRUE(LooksLikeGzip(gzip));
  EXPECT_FALSE(LooksLikeGzip(zstd));
  EXPECT_TRUE(LooksLikeZstd(zstd));
  EXPECT_FALSE(LooksLikeZstd(gzip));
  EXPECT_TRUE(LooksLikeZstd(std::string("\x50\x2a\x4d\x18", 4)));
  EXPECT_TRUE(LooksLikeZstd(std::string("\x5f\x2a\x4d\x18", 4)));
  for (const std::string none : {"", "\x1f", "\x28\xb5\x2f", "{}", "\x60\x2a\x4d\x18", "\x5f\x2a\x4d"}) {
    EXPECT_FALSE(LooksLikeGzip(none));
    EXPECT_FALSE(LooksLikeZstd(none));
  }
}

// Makes bytes as long as there is room, or nothing at all.
class Endless : public Unpacker {
 public:
  explicit Endless(std::atomic<int64_t>& made, bool stuck = false) : made_(made), stuck_(stuck) {}
  Result<Step> Unpack(std::span<const char>, std::span<char> out) override {
    if (stuck_) return Step{};
    std::fill(out.begin(), out.end(), 'x');
    made_ += static_cast<int64_t>(out.size());
    return Step{0, out.size()};
  }
  bool AtEnd() const override { return false; }

 private:
  std::atomic<int64_t>& made_;
  const bool stuck_;
};

TEST_F(PackedTextTest, IsAheadOfItsReadersByItsBlocksAndNoMore) {
  std::atomic<int64_t> made = 0;
  Open("source", std::make_unique<Endless>(made), {.blocks_ahead = 2});
  EXPECT_EQ(Read(0, 1), "x");
  text_->Release(kBlock);
  EXPECT_EQ(Read(kBlock, 1), "x");
  text_->Release(kBlock + 1);  // the second one is not behind yet
  text_.reset();
  EXPECT_LE(made, 3 * kBlock);
}

TEST_F(PackedTextTest, MayEndWhileItIsUnderWay) {
  std::atomic<int64_t> made = 0;
  Open("source", std::make_unique<Endless>(made), {.blocks_ahead = 1});
  text_.reset();
  Open("source", std::make_unique<Endless>(made), {.blocks_ahead = 1});
  EXPECT_TRUE(text_->FinishHash({}).ok());
}

TEST_F(PackedTextTest, AnUnpackerThatMakesNothingEndsTheText) {
  std::atomic<int64_t> made = 0;
  Open("source", std::make_unique<Endless>(made, true));
  EXPECT_EQ(ReadAll(), "");
  EXPECT_TRUE(text_->WhyCut());
}

TEST_P(EachPackingTest, OneThatBecomesShorterIsKeptUpToThereAndSaysSo) {
  const std::string text = TextLines(3'000'000);
  const std::string packed = Pack(text);
  const std::string source = packed + std::string(kHashBlockBytes, '\0');
  for (const size_t size : {packed.size() / 2, size_t{0}}) {
    fd_ = UniqueFd(::memfd_create("source", MFD_CLOEXEC));
    ASSERT_EQ(::write(fd_.get(), source.data(), source.size()), static_cast<ssize_t>(source.size()));
    file_.emplace(*SourceFile::Open(fd_.get(), "trace.json.gz"));
    ASSERT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(size)), 0);
    text_ = OpenPackedText(*file_, GetParam().unpacker());
    const std::string kept = ReadAll();
    EXPECT_TRUE(text.starts_with(kept));
    EXPECT_EQ(kept.empty(), size == 0);
    ASSERT_TRUE(text_->WhyCut());
    EXPECT_EQ(text_->WhyCut()->code(), ErrorCode::kBadInput);
    EXPECT_EQ(text_->WhyCut()->why(), "it became shorter while it was read: of its " + std::to_string(source.size()) +
                                          " bytes only " + std::to_string(size) + " were there");
    EXPECT_EQ(*text_->FinishHash({}), "");
  }
}

TEST_F(PackedTextTest, OneThatBecomesShorterBehindItsTextHasNoHash) {
  const std::string source = Gzip("text") + std::string(9 * kHashBlockBytes, '\0');
  std::atomic<int64_t> made = 0;
  Open(source, std::make_unique<Endless>(made), {.blocks_ahead = 1});
  EXPECT_EQ(Read(0, 1), "x");
  ASSERT_EQ(::ftruncate(fd_.get(), 5 * kHashBlockBytes), 0);
  EXPECT_FALSE(text_->WhyCut());
  EXPECT_EQ(*text_->FinishHash({}), "");
  EXPECT_TRUE(text_->WhyCut());
}

TEST_F(PackedTextTest, OnceStoppedTheHashIsCancelled) {
  Open(Gzip("text") + std::string(9 * kHashBlockBytes, '\0'), MakeGzipUnpacker(), {.blocks_ahead = 1});
  std::atomic<int64_t> made = 0;
  Open(std::string(9 * kHashBlockBytes, 'z'), std::make_unique<Endless>(made), {.blocks_ahead = 1});
  std::stop_source stop;
  stop.request_stop();
  const Result<std::string> hash = text_->FinishHash(stop.get_token());
  ASSERT_FALSE(hash.ok());
  EXPECT_EQ(hash.status().code(), ErrorCode::kCancelled);
}

TEST_F(PackedTextTest, SaysHowMuchOfTheSourceATextIs) {
  const std::string packed = Gzip(TextLines(3 * kTextBlockBytes));
  Open(packed, MakeGzipUnpacker());
  Read(3 * kBlock - 1, 1);
  EXPECT_GT(text_->SourceBytesAt(1), 0);
  EXPECT_LE(text_->SourceBytesAt(1), text_->SourceBytesAt(3 * kBlock));
  EXPECT_EQ(text_->SourceBytesAt(3 * kBlock), static_cast<int64_t>(packed.size()));
}

}  // namespace
}  // namespace kprof
