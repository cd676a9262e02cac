#include "daemon/runs/run_id.h"

#include <gtest/gtest.h>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

TEST(RunId, SortsByTimeAndFitsItsAlphabet) {
  FakeClock clock;
  RunIdGenerator ids(clock, "");
  std::string last;
  for (int i = 0; i < 5000; ++i) {
    std::string id = ids.Next();
    EXPECT_EQ(id.size(), kRunIdLength);
    EXPECT_TRUE(LooksLikeRunId(id));
    EXPECT_GT(id, last);
    last = id;
    if (i % 3 == 0) clock.Advance(kNanosPerMilli);
  }
}

TEST(RunId, StaysAboveTheLastOneWhenTheClockStepsBack) {
  FakeClock clock;
  RunIdGenerator ids(clock, "zzzzzzzz00000000");
  EXPECT_EQ(ids.Next(), "zzzzzzzz00000001");
  EXPECT_EQ(RunIdGenerator(clock, "zzzzzzzz0000000z").Next(), "zzzzzzzz00000010");
}

TEST(RunId, RefusesWhatIsNoBeginningOfOne) {
  for (const char* text : {"", "0123456789abcdefg", "../etc", "il", "abc-", "@last"}) {
    EXPECT_FALSE(LooksLikeRunId(text)) << text;
  }
  EXPECT_TRUE(LooksLikeRunId("01JD"));
}

}  // namespace
}  // namespace kprof
