#include "storage/trace/write/string_table.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

TEST(StringTable, TheEmptyStringIsNumberZero) {
  StringTable strings;
  EXPECT_EQ(strings.size(), 1u);
  EXPECT_EQ(strings.Add(""), 0u);
  EXPECT_EQ(strings.Text(0), "");
}

TEST(StringTable, EachStringHasOneNumber) {
  StringTable strings;
  for (const int turn : {1, 2}) {
    for (uint32_t i = 0; i < 50'000; ++i) {
      ASSERT_EQ(strings.Add("name " + std::to_string(i)), i + 1) << "turn " << turn;
    }
  }
  EXPECT_EQ(strings.size(), 50'001u);
  for (uint32_t i = 0; i < 50'000; ++i) ASSERT_EQ(strings.Text(i + 1), "name " + std::to_string(i));
}

TEST(StringTable, KeepsLongOnesAndWhateverBytesTheyHave) {
  StringTable strings;
  const std::string with_zero("a\0b", 3);
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(strings.Add(with_zero), 1u);
  EXPECT_EQ(strings.Add(large), 2u);
  EXPECT_EQ(strings.Add("a"), 3u);
  EXPECT_EQ(strings.Text(1), with_zero);
  EXPECT_EQ(strings.Text(2), large);
  EXPECT_GE(strings.size_bytes(), 1 << 20);
}

}  // namespace
}  // namespace kprof
