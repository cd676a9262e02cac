#include "daemon/base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

constexpr int64_t kThen = 1'795'255'200'123'456'789;

std::string Line(std::string value) {
  return FormatLogLine(LogLevel::kInfo, kThen, "it", {{"k", std::move(value)}});
}

TEST(Log, WritesTimeLevelEventAndFieldsOnOneLine) {
  EXPECT_EQ(FormatLogLine(LogLevel::kWarning, kThen, "run ended", {{"run", "01j"}, {"state", "done"}}),
            "2026-11-21T10:00:00.123Z warning run ended run=01j state=done");
}

TEST(Log, QuotesValuesThatWouldNotReadBack) {
  const std::string begin = "2026-11-21T10:00:00.123Z info it k=";
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "plain"},
      {"", "\"\""},
      {"two words", "\"two words\""},
      {"a=b", "\"a=b\""},
      {"a\"b", "\"a\\\"b\""},
      {"a\\b", "\"a\\\\b\""},
      {"a\nb", "\"a\\nb\""},
      {std::string("a\0b", 3), "\"a\\x00b\""},
      {"a\x7f", "\"a\\x7f\""},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
      {"\xff\xfe", "\"\\xff\\xfe\""},
      {"a b\xff", "\"a b\\xff\""},
  };
  for (const auto& [value, expected] : cases) EXPECT_EQ(Line(value), begin + expected);
}

TEST(Log, ShowsATimeBeforeTheEpochAsTheEpoch) {
  EXPECT_EQ(FormatLogLine(LogLevel::kError, -5, "x", {}), "1970-01-01T00:00:00.000Z error x");
}

}  // namespace
}  // namespace kprof
