#include "storage/base/readable_text.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(Utf8, StepsOverWholeCharacters) {
  Utf8Step step = NextUtf8("\xe2\x82\xac.");
  EXPECT_TRUE(step.valid);
  EXPECT_EQ(step.code_point, 0x20acu);
  EXPECT_EQ(step.size_bytes, 3u);
}

TEST(Utf8, StepsOverOneByteOfWhatIsNoCharacter) {
  for (std::string_view bytes : {"\xff", "\xc0\x80", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xc3("}) {
    Utf8Step step = NextUtf8(bytes);
    EXPECT_FALSE(step.valid);
    EXPECT_EQ(step.size_bytes, 1u);
  }
}

TEST(Utf8, FindsWhereTheLastWholeCharacterEnds) {
  EXPECT_EQ(WholeUtf8Size(""), 0u);
  EXPECT_EQ(WholeUtf8Size("ab"), 2u);
  EXPECT_EQ(WholeUtf8Size("ab\xe2\x82\xac"), 5u);
  EXPECT_EQ(WholeUtf8Size("ab\xe2\x82"), 2u);
  EXPECT_EQ(WholeUtf8Size("ab\xf0\x9f\x98"), 2u);
  EXPECT_EQ(WholeUtf8Size("\xc3"), 0u);
}

TEST(Utf8, DoesNotWaitForBytesThatCanNeverBecomeACharacter) {
  EXPECT_EQ(WholeUtf8Size("ab\xff"), 3u);
  EXPECT_EQ(WholeUtf8Size("\x80\x80\x80\x80"), 4u);
}

}  // namespace
}  // namespace kprof
