#include "daemon/ingest/text/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

// As in a source, where something stands behind a number: digits, which are not of it.
class Padded {
 public:
  explicit Padded(std::string_view text) : text_(std::string(text) + "77777777"), size_(text.size()) {}
  operator std::string_view() const { return std::string_view(text_).substr(0, size_); }

 private:
  const std::string text_;
  const size_t size_;
};

TEST(JsonNumber, IsItsDigitsAndWhereThePointStands) {
  struct Case {
    const char* text;
    int64_t digits;
    int places;
    bool is_integer;
  };
  for (const Case& c : {Case{"0", 0, 0, true}, Case{"00", 0, 0, true}, Case{"42", 42, 0, true},
                        Case{"-42", -42, 0, true}, Case{"3.0", 30, 1, false}, Case{"-12.50", -1250, 2, false},
                        Case{"0.001", 1, 3, false}, Case{"999999999999999999", 999'999'999'999'999'999, 0, true},
                        Case{"4026150069145.028", 4'026'150'069'145'028, 3, false}}) {
    const std::optional<JsonNumber> number = ParseJsonNumber(Padded(c.text));
    ASSERT_TRUE(number) << c.text;
    EXPECT_EQ(number->digits, c.digits) << c.text;
    EXPECT_EQ(number->places, c.places) << c.text;
    EXPECT_EQ(number->is_integer, c.is_integer) << c.text;
  }
}

TEST(JsonNumber, IsNotWhatHasToBeKeptAsText) {
  for (const char* text : {"", "-", ".", "1.", ".5", "1.2.3", "1e5", "1-2", "--1", "+1", "-0", "-0.00", "1 ", "NaN",
                           "0x10", "1234567890123456789", "1234567890.1234567890"}) {
    EXPECT_FALSE(ParseJsonNumber(Padded(text))) << text;
  }
}

TEST(JsonNumber, MicrosecondsBecomeNanosecondsDigitByDigit) {
  struct Case {
    const char* text;
    int64_t nanos;
  };
  for (const Case& c : {Case{"0", 0},
                        Case{"-0", 0},
                        Case{"-0.0", 0},
                        Case{"1", 1000},
                        Case{"1.5", 1500},
                        Case{"0.001", 1},
                        Case{"-2.25", -2250},
                        Case{"1592222222222222.123", 1'592'222'222'222'222'123},
                        Case{"4026150069145.028", 4'026'150'069'145'028},
                        Case{"1.0004", 1000},
                        Case{"1.0005", 1001},
                        Case{"1.00049999", 1000},
                        Case{"-1.0005", -1001},
                        Case{"1e3", 1'000'000},
                        Case{"1.5e-3", 2},
                        Case{"2E+2", 200'000},
                        Case{"123456e-9", 0},
                        Case{"0.0005", 1},
                        Case{"0e400", 0},
                        Case{"1234567890123456.7890123456789", 1'234'567'890'123'456'789}}) {
    const std::optional<int64_t> nanos = ParseMicros(Padded(c.text));
    ASSERT_TRUE(nanos) << c.text;
    EXPECT_EQ(*nanos, c.nanos) << c.text;
  }
}

TEST(JsonNumber, MicrosecondsThatDoNotFitAreNone) {
  for (const char* text : {"", "abc", "1e", "1e+", "-", "1.e5", "9223372036854775.808", "99999999999999999999", "1e300",
                           "1e99999999999999999999", "12 "}) {
    EXPECT_FALSE(ParseMicros(Padded(text))) << text;
  }
  EXPECT_EQ(ParseMicros(Padded("9223372036854775.807")), 9'223'372'036'854'775'807);
}

}  // namespace
}  // namespace kprof
