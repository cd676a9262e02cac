#include "daemon/analysis/operators/text_expression.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

bool Fits(const std::string& expression, const std::string& text) {
  const Result<TextExpression> read = TextExpression::Read(expression, "read it");
  EXPECT_TRUE(read.ok()) << expression << ": " << read.status().why();
  return read.ok() && read->Fits(text);
}

TEST(TextExpression, FitsAsItsSignsSay) {
  const struct {
    const char* expression;
    const char* fits;
    const char* does_not;
  } cases[] = {
      {"abc", "xabcx", "ab"},
      {"^a.c$", "abc", "abcd"},
      {"ab*c", "ac", "adc"},
      {"ab+c", "abbbc", "ac"},
      {"ab?c$", "ac", "abbc"},
      {"^(ab|c|)d$", "d", "ad"},
      {"^(?:ab|cd)+$", "abcdab", "abc"},
      {"py:(23|25)$", "m.py:25", "m.py:24"},
      {"py:2[3-5]$", "m.py:24", "m.py:26"},
      {"^[^/]+$", "model.py", "w/model.py"},
      {"^[]a]+$", "]a", "b"},
      {"^[a-]+$", "-a", "b"},
      {"^[^]]$", "a", "]"},
      {"^\\d+$", "123", "12a"},
      {"^\\D+$", "abc", "a1"},
      {"^\\w+\\s\\w+$", "a_1 b", "a-b"},
      {"^[\\d.]+$", "1.5", "1,5"},
      {"^[^\\d]$", "a", "1"},
      {"^\\W$", "-", "_"},
      {"^a{3}$", "aaa", "aaaa"},
      {"^a{2,}$", "aaaa", "a"},
      {"^a{1,3}$", "aaa", "aaaa"},
      {"^(ab{0,2}){2}$", "abbab", "abbb"},
      {"^a{,2}$", "a{,2}", "aa"},  // as it stands: no number is before the comma
      {"^{}$", "{}", "{"},
      {"a\\.b", "a.b", "axb"},
      {"a\\tb", "a\tb", "a\\tb"},
      {"^a+?$", "aa", ""},
      {"^(a*)*$", "aaa", "ab"},
      {"^(a|b)*c|d$", "abac", "abab"},
      {"^.$", "\xC3\xA9", "\xC3\xA9\xC3\xA9"},
      {"^[\xC3\xA0-\xC3\xBF]$", "\xC3\xA9", "\xC3\x80"},
      {"^..$", "\xFF\xC3", "\xFF"},  // bytes that are no UTF-8
      {"x^a|b", "b", "xa"},
  };
  for (const auto& one : cases) {
    EXPECT_TRUE(Fits(one.expression, one.fits)) << one.expression << " " << one.fits;
    EXPECT_FALSE(Fits(one.expression, one.does_not)) << one.expression << " " << one.does_not;
  }
  for (const char* const everything : {"", "()", "a*", "|", "$", "(|a)+"}) EXPECT_TRUE(Fits(everything, "x"));
}

TEST(TextExpression, SaysWhereItIsWrong) {
  const struct {
    std::string expression;
    const char* says;
  } cases[] = {
      {"a(b", "a ( has no ) behind it, at byte 2"},
      {"ab)", "a ) has no ( before it, at byte 3"},
      {"a[bc", "a [ has no ] behind it, at byte 2"},
      {"[", "no ]"},
      {"[z-a]", "ends before it begins"},
      {"*a", "nothing that '*' could repeat, at byte 1"},
      {"a|+", "nothing that '+' could repeat, at byte 3"},
      {"a\\", "nothing stands behind the \\"},
      {"(a)\\1", "'\\1' is no sign"},
      {"\\bword", "'\\b' is no sign"},
      {"(?=a)", "only (?: is known"},
      {"a{3,2}", "the second number is less"},
      {"a{300}", "more than 255 times"},
      {std::string(40, '(') + std::string(40, ')'), "groups stand too deep"},
      {"((a{200}){200}){200}", "repeats too much"},
      {"((){255}){255}", "repeats too much"},
  };
  for (const auto& one : cases) {
    const Status status = TextExpression::Read(one.expression, "read it").status();
    EXPECT_EQ(status.code(), ErrorCode::kUsage) << one.expression;
    EXPECT_NE(status.why().find(one.says), std::string::npos) << one.expression << ": " << status.why();
  }
}

TEST(TextExpression, TakesNoLongerForAHostileExpression) {
  const std::string text = std::string(20'000, 'a') + "!";
  for (const char* const hostile :
       {"^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*(.*)*(.*)*b", "^(a?){100}a{100}$", "(((((a+)+)+)+)+)+b"}) {
    EXPECT_FALSE(Fits(hostile, text)) << hostile;
  }
  // One that may go back would take 2^n steps, or a frame of the stack for each character.
  EXPECT_TRUE(Fits("^(a|b)*!$", std::string(5'000'000, 'a') + "!"));
}

}  // namespace
}  // namespace kprof
