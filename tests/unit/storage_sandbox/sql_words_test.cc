#include "storage/sandbox/sql_words.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(SqlWords, HasNamesHoweverTheyAreQuoted) {
  const SqlWords words(
      "SELECT \"Track\".id,[slice].[x] FROM`flow_point`, main.RUN /*instant*/ WHERE a='b c'\n;-- \xc3\xa4");
  for (const char* name : {"track", "slice", "flow_point", "run", "instant", "b", "c", "where"}) {
    EXPECT_TRUE(words.Has(name)) << name;
  }
  for (const char* name : {"flow", "point", "rack", "tracks", "", "b c"}) EXPECT_FALSE(words.Has(name)) << name;
}

TEST(SqlWords, OfNothingAreNone) {
  EXPECT_FALSE(SqlWords("").Has("run"));
  EXPECT_FALSE(SqlWords(" ;").Has(""));
}

}  // namespace
}  // namespace kprof
