#include "daemon/analysis/operators/event_filter.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

TEST(NamePattern, StarIsAnyRunAndQuestionMarkIsOneCharacter) {
  struct Case {
    const char* pattern;
    const char* name;
    bool matches;
  };
  const Case cases[] = {
      {"", "", true},
      {"*", "", true},
      {"*", "abc", true},
      {"?", "", false},
      {"?", "a", true},
      {"?", "ab", false},
      {"a*c", "abc", true},
      {"a*c", "ac", true},
      {"a*c", "acb", false},
      {"*b*", "abc", true},
      {"**", "x", true},
      {"a?c*", "abcd", true},
      {"*ab", "aab", true},
      {"*aab", "aaaab", true},
      {"Ab", "ab", false},
      {"[a]", "[a]", true},
      {"?", "\xc3\xa9", true},
      {"??", "\xc3\xa9", false},
      {"?", "\xff", true},
      {"a*b*c", "aXbYc", true},
      {"a*b*c", "aXcYb", false},
      {"gemm_*", "void gemm_1", false},
  };
  for (const Case& c : cases) EXPECT_EQ(MatchesPattern(c.pattern, c.name), c.matches) << c.pattern << " on " << c.name;
}

TEST(NamePattern, ManyStarsOnALongNameTakeNoLongTime) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(MatchesPattern(pattern + "b", std::string(20'000, 'a')));
}

}  // namespace
}  // namespace kprof
