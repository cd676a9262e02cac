#include "daemon/ingest/parquet/page_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/ingest/parquet/page_codecs.h"
#include "daemon/ingest/parquet/thrift_compact.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Bytes(std::initializer_list<int> bytes) {
  std::string made;
  for (const int byte : bytes) made += static_cast<char>(byte);
  return made;
}

std::vector<uint32_t> Runs(const std::string& bytes, int bits, size_t count) {
  std::vector<uint32_t> values(count);
  RunDecoder runs(bytes, bits);
  return runs.Read(values) ? values : std::vector<uint32_t>();
}

TEST(RunDecoder, ReadsRunsAndPackedGroups) {
  // The format's own example: 0 to 7 in three bits.
  EXPECT_THAT(Runs(Bytes({0x03, 0x88, 0xC6, 0xFA}), 3, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(Runs(Bytes({0x0A, 0x02}), 2, 5), ElementsAre(2, 2, 2, 2, 2));
  EXPECT_THAT(Runs(Bytes({0x04, 0x01, 0x03, 0x88, 0xC6, 0xFA}), 3, 5), ElementsAre(1, 1, 0, 1, 2));
  EXPECT_THAT(Runs(Bytes({0x08}), 0, 4), ElementsAre(0, 0, 0, 0));
}

TEST(RunDecoder, EndsWhereBytesDo) {
  EXPECT_THAT(Runs(Bytes({0x0A, 0x02}), 2, 6), IsEmpty());                          // fewer values
  EXPECT_THAT(Runs(Bytes({0x03, 0x88}), 3, 8), IsEmpty());                          // cut off
  EXPECT_THAT(Runs(Bytes({0x00, 0x01}), 1, 1), IsEmpty());                          // a run of none
  EXPECT_THAT(Runs(Bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}), 3, 1), IsEmpty());  // no end of its length
  EXPECT_THAT(Runs("", 1, 1), IsEmpty());
}

TEST(ReadDeltas, ReadsWhatWasWritten) {
  // The format's own example: 7, 5, 3, 1, 2, 3, 4, 5 in a block of 128 with 4 miniblocks.
  std::string bytes = Bytes({0x80, 0x01, 0x04, 0x08, 0x0E, 0x03, 0x02, 0x00, 0x00, 0x00});
  bytes += Bytes({0xC0, 0x3F, 0, 0, 0, 0, 0, 0});
  std::vector<int64_t> values;
  size_t taken = 0;
  ASSERT_TRUE(ReadDeltas(bytes, true, 100, values, taken));
  EXPECT_THAT(values, ElementsAre(7, 5, 3, 1, 2, 3, 4, 5));
  EXPECT_EQ(taken, bytes.size());
  EXPECT_FALSE(ReadDeltas(bytes, true, 7, values, taken));                  // more than is allowed
  EXPECT_FALSE(ReadDeltas(bytes.substr(0, 11), true, 100, values, taken));  // cut off
  EXPECT_FALSE(ReadDeltas(Bytes({0x80, 0x01, 0x00, 0x08, 0x0E}), true, 100, values, taken));
}

TEST(ReadDeltas, GoesRoundWhereNumbersEnd) {
  // From the largest 64-bit integer one up: INT64_MAX, INT64_MIN.
  std::string bytes = Bytes({0x80, 0x01, 0x04, 0x02});
  bytes += Bytes({0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01});  // zigzag of INT64_MAX
  bytes += Bytes({0x02, 0x00, 0x00, 0x00, 0x00});                                // least delta 1, no bits
  std::vector<int64_t> values;
  size_t taken = 0;
  ASSERT_TRUE(ReadDeltas(bytes, false, 100, values, taken));
  EXPECT_THAT(values, ElementsAre(INT64_MAX, INT64_MIN));
}

TEST(PageTexts, AreReadInEachEncoding) {
  std::vector<std::string_view> texts;
  const std::string plain = Bytes({2, 0, 0, 0}) + "ab" + Bytes({0, 0, 0, 0}) + Bytes({1, 0, 0, 0}) + "c";
  ASSERT_TRUE(ReadPlainTexts(plain, 3, texts));
  EXPECT_THAT(texts, ElementsAre("ab", "", "c"));
  EXPECT_FALSE(ReadPlainTexts(plain, 4, texts));
  EXPECT_FALSE(ReadPlainTexts(Bytes({9, 0, 0, 0}) + "ab", 1, texts));
  // Lengths 2 and 3: a block with one miniblock's delta of 1.
  const std::string lengths = Bytes({0x80, 0x01, 0x04, 0x02, 0x04, 0x02, 0, 0, 0, 0});
  const std::string whole = lengths + "abcde";
  ASSERT_TRUE(ReadDeltaLengthTexts(whole, 2, texts));
  EXPECT_THAT(texts, ElementsAre("ab", "cde"));
  EXPECT_FALSE(ReadDeltaLengthTexts(lengths + "abcd", 2, texts));
  // Prefixes 0 and 2: "axle", "ax" + "is".
  const std::string prefixes = Bytes({0x80, 0x01, 0x04, 0x02, 0x00, 0x04, 0, 0, 0, 0});
  const std::string suffixes = Bytes({0x80, 0x01, 0x04, 0x02, 0x08, 0x03, 0, 0, 0, 0});
  std::vector<char> storage;
  const std::string deltas = prefixes + suffixes + "axleis";
  ASSERT_TRUE(ReadDeltaTexts(deltas, 2, 100, storage, texts));
  EXPECT_THAT(texts, ElementsAre("axle", "axis"));
  EXPECT_FALSE(ReadDeltaTexts(prefixes + suffixes + "axleis", 2, 7, storage, texts));
}

TEST(JoinSplitBytes, PutsValuesTogether) {
  std::vector<char> joined;
  ASSERT_TRUE(JoinSplitBytes(std::string_view("adbecf"), 3, 2, joined));
  EXPECT_EQ(std::string(joined.begin(), joined.end()), "abcdef");
  EXPECT_FALSE(JoinSplitBytes(std::string_view("ad"), 3, 2, joined));
}

std::string Unpacked(bool (*unpack)(std::span<const char>, std::span<char>), const std::string& packed, size_t size) {
  std::string out(size, '?');
  return unpack(packed, out) ? out : "(none)";
}

TEST(PageCodecs, SnappyIsUnpacked) {
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({5, 4 << 2}) + "abcde", 5), "abcde");
  // "ab", then eight from two before: a copy that overlaps what it makes.
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({10, 1 << 2}) + "ab" + Bytes({(8 - 4) << 2 | 1, 2}), 10), "ababababab");
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({10, 1 << 2}) + "ab" + Bytes({(8 - 1) << 2 | 2, 2, 0}), 10), "ababababab");
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({10, 1 << 2}) + "ab" + Bytes({(8 - 1) << 2 | 3, 2, 0, 0, 0}), 10),
            "ababababab");
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({3, 60 << 2, 2}) + "abc", 3), "abc");
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({10, 1 << 2}) + "ab" + Bytes({(8 - 4) << 2 | 1, 3}), 10),
            "(none)");  // before the begin
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({5, 4 << 2}) + "abcd", 5), "(none)");
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({5, 4 << 2}) + "abcde", 6), "(none)");
  EXPECT_EQ(Unpacked(UnpackSnappy, Bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}), 5), "(none)");
}

TEST(PageCodecs, Lz4IsUnpacked) {
  EXPECT_EQ(Unpacked(UnpackLz4, Bytes({0x50}) + "abcde", 5), "abcde");
  EXPECT_EQ(Unpacked(UnpackLz4, Bytes({0x24}) + "ab" + Bytes({2, 0, 0x10}) + "c", 11),
            "ababababab"
            "c");
  EXPECT_EQ(Unpacked(UnpackLz4, Bytes({0xF0, 0}) + "abcdefghijklmno", 15), "abcdefghijklmno");
  EXPECT_EQ(Unpacked(UnpackLz4, Bytes({0x24}) + "ab" + Bytes({3, 0}), 10), "(none)");
  EXPECT_EQ(Unpacked(UnpackLz4, Bytes({0xF0, 255, 255}), 5), "(none)");
  EXPECT_EQ(Unpacked(UnpackLz4, Bytes({0x50}) + "abc", 5), "(none)");
}

TEST(ThriftReader, EndsAtDamage) {
  // A struct of a 32-bit integer (field 1) and a text (field 4).
  const std::string bytes = Bytes({0x15, 0x0E, 0x38, 0x02}) + "ab" + Bytes({0x00});
  ThriftReader in(bytes);
  EXPECT_EQ(in.Next(0).id, 1);
  EXPECT_EQ(in.Integer(), 7);
  EXPECT_EQ(in.Next(1).id, 4);
  EXPECT_EQ(in.Binary(), "ab");
  EXPECT_EQ(in.Next(4).type, ThriftReader::kStop);
  EXPECT_TRUE(in.ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    ThriftReader cut(std::span<const char>(bytes).first(size));
    cut.Skip(ThriftReader::kStruct);
    EXPECT_FALSE(cut.ok()) << size;
  }
  const std::string deep(100, 0x1C);  // a struct in a struct, and so on
  ThriftReader nested(deep);
  nested.Skip(ThriftReader::kStruct);
  EXPECT_FALSE(nested.ok());
}

}  // namespace
}  // namespace kprof
