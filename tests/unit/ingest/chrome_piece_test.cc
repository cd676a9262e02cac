#include "daemon/ingest/chrome/chrome_piece.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

using End = ChromePiece::End;

constexpr int64_t kMostPiece = 1 << 20;

std::string Event(int time) {
  return R"({"ph":"i","ts":)" + std::to_string(time) + "}";  // 17 bytes for one digit
}

class ChromePieceTest : public testing::Test {
 protected:
  ChromePiece Read(const std::string& source, int64_t first, int64_t limit, bool is_begin) {
    MemoryText text(source);
    ChromePieceReader reader(text, 3, limit - first, kMostPiece);
    return *reader.Read(first, limit, is_begin);
  }
};

TEST_F(ChromePieceTest, HasTheEventsThatBeginInIt) {
  const std::string source = Event(1) + "," + Event(2) + "," + Event(3) + "]";
  const ChromePiece piece = Read(source, 0, 19, true);  // the second begins at 18
  EXPECT_TRUE(piece.has_begin);
  EXPECT_EQ(piece.begin_bytes, 0);
  EXPECT_EQ(piece.end, End::kNext);
  EXPECT_EQ(piece.end_bytes, 36);
  EXPECT_EQ(piece.events, 2);
  EXPECT_EQ(piece.batch.source, 3u);
  EXPECT_EQ(piece.batch.rows[IndexOf(EventKind::kInstant)].of(EventColumn::kTime), (std::vector<int64_t>{1000, 2000}));
}

TEST_F(ChromePieceTest, LooksForItsFirstEvent) {
  const std::string source = Event(1) + "," + Event(2) + "," + Event(3) + "]";
  ChromePiece piece = Read(source, 1, 19, false);
  EXPECT_EQ(piece.begin_bytes, 18);
  EXPECT_EQ(piece.events, 1);
  piece = Read(source, 18, 36, false);  // the comma stands before the piece
  EXPECT_EQ(piece.begin_bytes, 18);
  EXPECT_EQ(piece.end_bytes, 36);
}

TEST_F(ChromePieceTest, WhereNoneBeginsItSaysSo) {
  EXPECT_FALSE(Read(Event(1) + "," + Event(2), 1, 18, false).has_begin);
  EXPECT_FALSE(Read(Event(1), 100, 200, false).has_begin);
}

TEST_F(ChromePieceTest, EndsAtTheBracketThatClosesTheList) {
  const ChromePiece piece = Read(Event(1) + " ] , \"a\": [" + Event(2) + "]", 0, 1000, true);
  EXPECT_EQ(piece.end, End::kBracket);
  EXPECT_EQ(piece.end_bytes, 18);
  EXPECT_EQ(piece.events, 1);
}

TEST_F(ChromePieceTest, ACutTextEndsItAtWhatIsNotWhole) {
  ChromePiece piece = Read(Event(1) + "," + Event(2).substr(0, 5), 0, 1000, true);
  EXPECT_EQ(piece.end, End::kCut);
  EXPECT_EQ(piece.end_bytes, 18);
  piece = Read(Event(1) + ", ", 0, 1000, true);
  EXPECT_EQ(piece.end, End::kCut);
  EXPECT_EQ(piece.end_bytes, 19);
}

TEST_F(ChromePieceTest, WhatIsNoEventIsSkipped) {
  for (const std::string none : {"x", "1", "\"a\"", "[1]", "{\"ph\":}", "{\"a\" 1}", "undefined", "{\"a\":+1}"}) {
    const ChromePiece piece = Read(Event(1) + "," + none + " ," + Event(2) + "]", 0, 1000, true);
    EXPECT_EQ(piece.end, End::kBracket) << none;
    EXPECT_EQ(piece.events, 2);
    ASSERT_EQ(piece.skipped.size(), 1u);
    EXPECT_EQ(piece.skipped[0].begin_bytes, 18);
    EXPECT_EQ(piece.skipped[0].end_bytes, 18 + static_cast<int64_t>(none.size())) << none;
    EXPECT_EQ(piece.skipped[0].events_before, 1);
  }
}

TEST_F(ChromePieceTest, WhereItsEndIsNotFoundWhatIsNoEventIsSkippedUpToTheNext) {
  for (const std::string none : {"}", "x y", "{\"ph\":\"X\",\"name\":\"broken,\"ts\":5}", ":", "{]"}) {
    const ChromePiece piece = Read(Event(1) + "," + none + ",\n" + Event(2) + "]", 0, 1000, true);
    EXPECT_EQ(piece.end, End::kBracket) << none;
    EXPECT_EQ(piece.events, 2) << none;
    ASSERT_EQ(piece.skipped.size(), 1u) << none;
    EXPECT_EQ(piece.skipped[0].begin_bytes, 18) << none;
    EXPECT_LE(piece.skipped[0].end_bytes, 18 + static_cast<int64_t>(none.size()) + 2) << none;
  }
}

TEST_F(ChromePieceTest, WithNoneBehindItIsSkippedToTheEndOfThePiece) {
  const std::string source = Event(1) + ",x y" + std::string(100, ' ') + "," + Event(2) + "]";
  ChromePiece piece = Read(source, 0, 60, true);
  EXPECT_EQ(piece.end, End::kSkipping);
  EXPECT_EQ(piece.end_bytes, 60);
  EXPECT_FALSE(piece.has_text_end);
  piece = Read(source, 60, 120, false);
  EXPECT_FALSE(piece.has_begin);
  EXPECT_EQ(piece.end, End::kSkipping);
  EXPECT_EQ(piece.end_bytes, 120);
  piece = Read(source, 120, 240, false);
  EXPECT_TRUE(piece.has_begin);
  EXPECT_EQ(piece.begin_bytes, 122);
  piece = Read(Event(1) + ",x y", 0, 1000, true);
  EXPECT_EQ(piece.end, End::kSkipping);
  EXPECT_EQ(piece.end_bytes, 21);
  EXPECT_TRUE(piece.has_text_end);
}

TEST_F(ChromePieceTest, AnEventMayBeMuchLargerThanItsPiece) {
  const std::string large = R"({"ph":"i","ts":2,"name":")" + std::string(600'000, 'x') + "\"}";
  const std::string source = Event(1) + "," + large + "," + Event(3) + "]";
  ChromePiece piece = Read(source, 0, 30, true);
  EXPECT_EQ(piece.end, End::kNext);
  EXPECT_EQ(piece.events, 2);
  EXPECT_EQ(piece.end_bytes, static_cast<int64_t>(source.size() - 18));
  piece = Read(source.substr(0, 400'000), 0, 30, true);
  EXPECT_EQ(piece.end, End::kCut);
  EXPECT_EQ(piece.end_bytes, 18);
}

TEST_F(ChromePieceTest, AnEventLargerThanMayBeIsSkipped) {
  const std::string large = R"({"ph":"i","ts":2,"name":")" + std::string(3 * kMostPiece, 'x') + "\"}";
  const ChromePiece piece = Read(Event(1) + "," + large + "," + Event(3) + "]", 0, 30, true);
  EXPECT_EQ(piece.end, End::kSkipping);
  EXPECT_EQ(piece.end_bytes, 30);
  EXPECT_EQ(piece.events, 1);
  ASSERT_EQ(piece.skipped.size(), 1u);
  EXPECT_EQ(piece.skipped[0].begin_bytes, 18);
  EXPECT_EQ(piece.skipped[0].why, SkippedPlace::Why::kTooLarge);
}

TEST_F(ChromePieceTest, EachPieceBringsOnlyWhatIsNew) {
  const std::string source = Event(1) + "," + Event(2) + "]";
  MemoryText text(source);
  ChromePieceReader reader(text, 0, 18, kMostPiece);
  const ChromePiece first = *reader.Read(0, 18, true);
  const ChromePiece second = *reader.Read(18, 36, true);
  EXPECT_EQ(first.batch.tracks.size(), 1u);
  EXPECT_EQ(second.batch.tracks.size(), 0u);
  EXPECT_EQ(second.events, 1);
  EXPECT_EQ(second.batch.rows[IndexOf(EventKind::kInstant)].size(), 1u);
}

TEST_F(ChromePieceTest, EventsWithoutATimeAreCounted) {
  const ChromePiece piece = Read(R"({"ph":"i"},{"ph":"i","ts":1},{"ph":"X","ts":"x"}])", 0, 1000, true);
  EXPECT_EQ(piece.events, 3);
  EXPECT_EQ(piece.untimed, 2);
}

TEST_F(ChromePieceTest, ATextThatCannotBeReadFails) {
  MemoryText text(Event(1));
  text.fail_from = 0;
  ChromePieceReader reader(text, 0, 100, kMostPiece);
  EXPECT_EQ(reader.Read(0, 100, true).status().code(), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace kprof
