#include "client/cli/grammar/command_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using Words = std::vector<std::string>;

OptionSpellings Known() {
  CommandDescription program;
  program.options.push_back({.spellings = {"--socket"}, .takes_value = true, .help = ""});
  CommandDescription verb;
  verb.options.push_back({.spellings = {"-o", "--output"}, .takes_value = true, .help = ""});
  verb.options.push_back({.spellings = {"-f", "--follow"}, .takes_value = false, .help = ""});
  program.commands.push_back(verb);
  return SpellingsOf(program);
}

TEST(TypedWords, KnowTheOptionsOfAllVerbs) {
  EXPECT_THAT(Known().valued, ElementsAre("--output", "--socket", "-o"));
  EXPECT_THAT(Known().flags, ElementsAre("--follow", "-f"));
}

TEST(TypedWords, AnEmptyValueBecomesAWordOfItsOwn) {
  EXPECT_THAT(
      WithEmptyValuesApart({"--socket=", "v", "--output=x=", "--follow=", "--new=", "--", "--socket="}, Known()),
      ElementsAre("--socket", "", "v", "--output=x=", "--follow=", "--new=", "--", "--socket="));
}

TEST(TypedWords, PositionalsAreWhatIsNeitherOptionNorValue) {
  const Words words = {"--socket", "s", "v", "-f", "--output=o", "t", "-o", "u", "c"};
  EXPECT_EQ(FindPositional(words, Known(), 0), 2u);
  EXPECT_EQ(FindPositional(words, Known(), 1), 5u);
  EXPECT_EQ(FindPositional(words, Known(), 2), 8u);
  EXPECT_EQ(FindPositional(words, Known(), 3), std::nullopt);
  EXPECT_EQ(FindPositional({"v", "--new", "x"}, Known(), 0), 0u);
  EXPECT_EQ(FindPositional({"v", "--new", "x"}, Known(), 1), std::nullopt);
}

TEST(TypedWords, WhatIsUnknownIsTakenOutInItsOrder) {
  Words words = {"--socket",   "s",   "v",       "kind", "--rank", "3",  "-f",
                 "--output=o", "run", "--new=x", "-o",   "u",      "-5", "-o"};
  EXPECT_THAT(TakeUnknownWords(words, 3, Known()), ElementsAre("kind", "--rank", "3", "run", "--new=x", "-5"));
  EXPECT_THAT(words, ElementsAre("--socket", "s", "v", "-f", "--output=o", "-o", "u", "-o"));
}

}  // namespace
}  // namespace kprof::cli
