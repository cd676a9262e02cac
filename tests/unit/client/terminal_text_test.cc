#include "client/cli/text/terminal_text.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

TEST(TerminalText, ShortensByCharactersNotBytes) {
  EXPECT_EQ(Shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(Shortened("abcdefg", 6), "abc...");
  EXPECT_EQ(Shortened("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 4), "\xc3\xbc...");
  EXPECT_EQ(Shortened("abcdefg", 2), "..");
  EXPECT_EQ(Shortened("abcdefg", 0), "");
}

TEST(TerminalText, ShortensInTheMiddleByCharacters) {
  EXPECT_EQ(ShortenedInMiddle("abcdef", 6), "abcdef");
  EXPECT_EQ(ShortenedInMiddle("abcdefghij", 7), "ab...ij");
  EXPECT_EQ(ShortenedInMiddle("abcdefghij", 8), "abc...ij");
  EXPECT_EQ(ShortenedInMiddle("\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc", 5), "\u00fc...\u00fc");
  EXPECT_EQ(ShortenedInMiddle("abcdefg", 2), "..");
  EXPECT_EQ(ShortenedInMiddle("abcdefg", 0), "");
}

TEST(TerminalText, QuotesCommandsAsAShellWouldWantThem) {
  EXPECT_EQ(CommandText({"python", "a.py", "--n=3"}), "python a.py --n=3");
  EXPECT_EQ(CommandText({"sh", "-c", "echo 'hi' $X", ""}), "sh -c 'echo '\\''hi'\\'' $X' ''");
}

TEST(TerminalText, MakesCommandsSafe) {
  EXPECT_EQ(CommandText({"echo", "\x1b]0;x\x07"}), "echo $'\\x1b]0;x\\x07'");
  EXPECT_EQ(CommandText({"\u202e"}), "'\\u{202e}'");
}

TEST(TerminalText, EscapesACommandOnce) {
  EXPECT_EQ(CommandText({"\xff"}), "$'\\xff'");
}

}  // namespace
}  // namespace kprof::cli
