#include "storage/base/readable_text.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(ReadableText, KeepsUtf8AndEscapesTheRest) {
  struct Case {
    std::string_view bytes;
    std::string_view text;
  };
  const Case cases[] = {
      {"", ""},
      {"a b\n", "a b\n"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"a\xff", "a\\xff"},
      {"\xc0\x80", "\\xc0\\x80"},                    // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // above U+10FFFF
      {"\xe2\x82z", "\\xe2\\x82z"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ReadableText(c.bytes), c.text);
    EXPECT_EQ(IsUtf8(c.bytes), c.bytes == c.text) << c.text;
    EXPECT_TRUE(IsUtf8(c.text));
  }
}

TEST(TerminalText, EscapesWhatWouldDriveTheTerminal) {
  EXPECT_EQ(TerminalText("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(TerminalText("a\r\n\tb\x7f"), "a\\x0d\\n\\tb\\x7f");
  EXPECT_EQ(TerminalText("\xc2\x9b"
                         "31m"),
            "\\x9b31m");
  EXPECT_EQ(TerminalText("\xe2\x80\xae"
                         "abc"),
            "\\u{202e}abc");
  EXPECT_EQ(TerminalText("\xff"), "\\xff");
  EXPECT_EQ(TerminalText("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(ReadableText, IsClippedBetweenCharacters) {
  EXPECT_EQ(ClippedText("abcd", 4), "abcd");
  EXPECT_EQ(ClippedText("abcde", 4), "abcd...");
  EXPECT_EQ(ClippedText("ab\xe2\x82\xac", 4), "ab...");
  EXPECT_EQ(ClippedText("a\xe2\x82\xac!", 4), "a\xe2\x82\xac...");
  EXPECT_EQ(ClippedText("ab\xff\xff!", 4), "ab\\xff\\xff...");
  EXPECT_EQ(ClippedText("ab", 0), "...");
}

}  // namespace
}  // namespace kprof
