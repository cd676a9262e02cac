#include "daemon/ingest/assemble/batch_sink.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

// "-" where it is none; what the double says, and behind a space how it was written where that says more.
std::string ReadSample(const std::string& text, bool is_text = false) {
  const std::string padded = text + std::string(16, '\0');
  const auto sample = ReadCounterSample(std::string_view(padded.data(), text.size()), is_text);
  if (!sample) return "-";
  CounterTextBuffer buffer;
  std::string said(CounterText(sample->value, buffer));
  if (!sample->written) return said;
  switch (*sample->written) {
    case ArgType::kInteger:
      return said + " integer " + std::to_string(sample->column);
    case ArgType::kDecimal:
      return said + " decimal " + std::to_string(UnpackDecimal(sample->column).digits) + "e-" +
             std::to_string(UnpackDecimal(sample->column).places);
    case ArgType::kNumber:
      return said + " number";
    case ArgType::kString:
      return said + " text";
    default:
      return "?";
  }
}

TEST(CounterSample, WhatADoubleSaysIsKeptAsThatAlone) {
  for (const char* text : {"0",
                           "-0",
                           "7",
                           "-7",
                           "1000000",
                           "9007199254740992",
                           "-9007199254740992",
                           "0.5",
                           "-12.25",
                           "1.1",
                           "0.1",
                           "0.30000000000000004",
                           "123456789.123",
                           "0.0001",
                           "1e-05",
                           "1.5e+300",
                           "1e+16",
                           "5e-324",
                           "999999999999.999",
                           "0.00012345678901234567",
                           "1234567890.1234567"}) {
    EXPECT_EQ(ReadSample(text), text);
  }
}

TEST(CounterSample, WhatItDoesNotSayIsKeptBesides) {
  EXPECT_EQ(ReadSample("9007199254740993"), "9007199254740992 integer 9007199254740993");
  EXPECT_EQ(ReadSample("18446744073709551615"), "18446744073709551616 number");
  EXPECT_EQ(ReadSample("1.10"), "1.1 decimal 110e-2");
  EXPECT_EQ(ReadSample("5.0"), "5 decimal 50e-1");
  EXPECT_EQ(ReadSample("0.0"), "0 decimal 0e-1");
  EXPECT_EQ(ReadSample("-0.0"), "-0 number");
  EXPECT_EQ(ReadSample("0.00001"), "1e-05 decimal 1e-5");
  EXPECT_EQ(ReadSample("0.10000000000000001"), "0.1 number");
  EXPECT_EQ(ReadSample("1E3"), "1000 number");
  EXPECT_EQ(ReadSample("nan"), "nan number");
  EXPECT_EQ(ReadSample("NaN"), "nan number");
  EXPECT_EQ(ReadSample("-Infinity"), "-inf number");
  EXPECT_EQ(ReadSample("7", true), "7 text");
  EXPECT_EQ(ReadSample("+inf", true), "inf text");
}

TEST(CounterSample, WhatIsNoNumberIsNone) {
  for (const char* text : {"", "x", "1e400", "1 ", "true", "0x7", "1.2.3"}) {
    EXPECT_EQ(ReadSample(text), "-") << text;
    EXPECT_EQ(ReadSample(text, true), "-") << text;
  }
}

// What is taken for the double's text without making it is.
TEST(CounterSample, TheTextOfADoubleIsKnownByItsDigits) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300'000; ++i) {
    const int places = static_cast<int>(random() % 19);
    const auto digits = static_cast<int64_t>(random() >> (random() % 60 + 4));
    std::string text = std::to_string(digits);
    if (places > 0) {
      if (text.size() <= static_cast<size_t>(places))
        text.insert(0, static_cast<size_t>(places) + 1 - text.size(), '0');
      text.insert(text.size() - static_cast<size_t>(places), ".");
    }
    if (!IsCounterText({digits, places})) continue;
    CounterTextBuffer buffer;
    ASSERT_EQ(CounterText(std::stod(text), buffer), text);
  }
}

}  // namespace
}  // namespace kprof
