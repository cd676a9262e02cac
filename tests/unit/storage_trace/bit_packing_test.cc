#include "storage/trace/format/bit_packing.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kprof {
namespace {

std::vector<uint64_t> Random(size_t count, int width, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> values(count);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (uint64_t& value : values) value = random() & mask;
  return values;
}

TEST(BitPacking, GivesBackWhatItWasGivenAtEveryWidthAndLength) {
  for (int width = 0; width <= 64; ++width) {
    for (const size_t count : {1, 2, 127, 128, 129, 300}) {
      const std::vector<uint64_t> values = Random(count, width, static_cast<uint64_t>(width) * 1000 + count);
      std::string packed;
      AppendPacked(values, packed);
      EXPECT_EQ(packed.size(), PackedBytes(values));
      std::vector<uint64_t> back(count, 77);
      std::string_view left = packed;
      ASSERT_TRUE(TakePacked(left, back)) << width << " bits, " << count << " values";
      EXPECT_EQ(back, values);
      EXPECT_TRUE(left.empty());
    }
  }
}

TEST(BitPacking, TakesNoMoreThanItsOwn) {
  std::string packed;
  AppendPacked(Random(200, 13, 1), packed);
  packed += "more";
  std::string_view left = packed;
  std::vector<uint64_t> back(200);
  ASSERT_TRUE(TakePacked(left, back));
  EXPECT_EQ(left, "more");
}

TEST(BitPacking, TakesNothingOfWhatIsCutOff) {
  std::string packed;
  AppendPacked(Random(300, 61, 2), packed);
  std::vector<uint64_t> back(300);
  for (size_t size = 0; size < packed.size(); ++size) {
    const std::string cut = packed.substr(0, size);  // its own memory: reading behind it would be seen
    std::string_view left = cut;
    EXPECT_FALSE(TakePacked(left, back)) << size;
    EXPECT_EQ(left.size(), size);
  }
}

TEST(BitPacking, RefusesAWidthThatThereIsNot) {
  const std::string packed(2000, static_cast<char>(65));
  std::string_view left = packed;
  std::vector<uint64_t> back(10);
  EXPECT_FALSE(TakePacked(left, back));
}

TEST(BitPacking, AZeroTakesNoBits) {
  std::string packed;
  AppendPacked(std::vector<uint64_t>(1000), packed);
  EXPECT_EQ(packed.size(), 8u);  // of blocks, a byte each
}

}  // namespace
}  // namespace kprof
