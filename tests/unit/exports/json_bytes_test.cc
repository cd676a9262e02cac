#include "daemon/exports/json_bytes.h"

#include <gtest/gtest.h>

#include <limits>

namespace kprof {
namespace {

TEST(JsonBytesTest, MicrosecondsAreExact) {
  const std::pair<int64_t, const char*> cases[] = {{0, "0"},
                                                   {1, "0.001"},
                                                   {10, "0.01"},
                                                   {-1, "-0.001"},
                                                   {1500, "1.5"},
                                                   {-1500, "-1.5"},
                                                   {1000000, "1000"},
                                                   {9007199254740993, "9007199254740.993"},
                                                   {std::numeric_limits<int64_t>::min() + 1, "-9223372036854775.807"}};
  for (const auto& [nanos, expected] : cases) {
    std::string out;
    AppendMicros(out, nanos);
    EXPECT_EQ(out, expected);
  }
}

// So that what was JSON is JSON again.
TEST(JsonBytesTest, HalvesOfSurrogatePairsAreEscaped) {
  const std::pair<std::string, const char*> cases[] = {
      {"a\xed\xa0\x80", R"("a\ud800")"},
      {"\xed\xbf\xbf!", R"("\udfff!")"},
      {"\xed\xb8\x80\xed\xa0\xbd", R"("\ude00\ud83d")"},
      {"\xed\xa0\xbd\xed\xb8\x80", "\"\xed\xa0\xbd\xed\xb8\x80\""},
      {"\xed\x9f\xbf\xed", "\"\xed\x9f\xbf\xed\""},
      {"\xed\xa0", "\"\xed\xa0\""},
      {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
  };
  for (const auto& [text, expected] : cases) {
    std::string out;
    AppendJsonText(out, text);
    EXPECT_EQ(out, expected);
  }
}

TEST(JsonBytesTest, TextThatIsNoJsonBecomesAString) {
  const std::pair<const char*, const char*> cases[] = {{"{}", "{}"},   {"[1]", "[1]"},     {"1e5", "1e5"},
                                                       {"}", "\"}\""}, {"a,b", "\"a,b\""}, {"", "\"\""}};
  for (const auto& [text, expected] : cases) {
    std::string out;
    AppendRawJson(out, text);
    EXPECT_EQ(out, expected);
  }
}

TEST(JsonBytesTest, DecimalsKeepTheirPlaces) {
  const std::pair<int64_t, const char*> cases[] = {
      {1250 * 16 + 2, "12.50"}, {-1 * 16 + 3, "-0.001"}, {1, "0.0"}, {7 * 16, "7"}};
  for (const auto& [packed, expected] : cases) {
    std::string out;
    AppendDecimal(out, packed);
    EXPECT_EQ(out, expected);
  }
}

TEST(JsonBytesTest, OnlyIntegersThatAllReadersTakeArePlain) {
  for (const char* text : {"0", "7", "-7", "123456789012345678"}) EXPECT_TRUE(IsPlainInteger(text)) << text;
  for (const char* text : {"", "-", "-0", "007", "1.5", "0x7", "1234567890123456789", " 1"}) {
    EXPECT_FALSE(IsPlainInteger(text)) << text;
  }
}

}  // namespace
}  // namespace kprof
