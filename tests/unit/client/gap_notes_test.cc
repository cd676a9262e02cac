#include "client/cli/verbs/verb_logs.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

using std::chrono::milliseconds;

class GapNotesTest : public testing::Test {
 protected:
  // "" for no note.
  std::string Piece(int64_t dropped_bytes, int at_ms) {
    return notes_.OnPiece(dropped_bytes, LogGapNotes::TimePoint() + milliseconds(at_ms)).value_or("");
  }
  std::string End() { return notes_.AtEnd().value_or(""); }

  LogGapNotes notes_;
};

TEST_F(GapNotesTest, SaysNothingWhereNothingIsMissing) {
  EXPECT_EQ(Piece(0, 0), "");
  EXPECT_EQ(End(), "");
}

TEST_F(GapNotesTest, SaysASingleGapAtOnceAndOnce) {
  EXPECT_EQ(Piece(2048, 5), "2.0 KiB in between were not kept");
  EXPECT_EQ(Piece(0, 5000), "");
  EXPECT_EQ(End(), "");
}

TEST_F(GapNotesTest, SumsTheGapsOfASecond) {
  EXPECT_EQ(Piece(1, 0), "1 B in between were not kept");
  for (int ms = 1; ms < 1000; ++ms) EXPECT_EQ(Piece(1, ms), "") << ms;
  EXPECT_EQ(Piece(1, 1000), "1000 B in between were not kept");
  EXPECT_EQ(End(), "1001 B in all were not kept");
}

TEST_F(GapNotesTest, SaysWhatItHasHeldBackAlsoWithoutAnotherGap) {
  Piece(1, 0);
  EXPECT_EQ(Piece(2, 500), "");
  EXPECT_EQ(Piece(0, 1500), "2 B in between were not kept");
}

TEST_F(GapNotesTest, SaysAtTheEndWhatItHasHeldBack) {
  Piece(1, 0);
  Piece(2, 500);
  EXPECT_EQ(End(), "3 B in all were not kept");
}

}  // namespace
}  // namespace kprof::cli
