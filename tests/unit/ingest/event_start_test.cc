#include "daemon/ingest/chrome/chrome_piece.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "daemon/ingest/text/json_scan.h"

namespace kprof {
namespace {

constexpr int kNowhere = -1;

// Where in the text an event begins, looked for from there on.
int Found(const std::string& text, size_t from = 0, size_t limit = std::string::npos) {
  const auto padded = std::make_unique<char[]>(text.size() + kScanSlackBytes);  // who reads further is seen
  std::copy(text.begin(), text.end(), padded.get());
  const char* at = FindEventStart(padded.get(), padded.get() + from, padded.get() + std::min(limit, text.size()),
                                  padded.get() + text.size());
  return at == nullptr ? kNowhere : static_cast<int>(at - padded.get());
}

TEST(EventStart, IsTheBraceOfTheFirstEventFromThereOn) {
  const std::string text = R"([{"ph":"X"}, {"ts":1,"ph":"i"}])";
  EXPECT_EQ(Found(text), 1);
  EXPECT_EQ(Found(text, 1), 1);
  EXPECT_EQ(Found(text, 2), 13);
  EXPECT_EQ(Found(text, 13), 13);
  EXPECT_EQ(Found(text, 14), kNowhere);
  EXPECT_EQ(Found(text, text.size()), kNowhere);
}

TEST(EventStart, SpaceOfAllSortsMayStandBeforeIt) {
  EXPECT_EQ(Found(", \t\r\n{ \n\"ph\" : \"X\" }"), 5);
}

TEST(EventStart, WhatFollowsNoCommaAndNoBracketIsNone) {
  EXPECT_EQ(Found(R"({"ph":"X"})"), kNowhere);
  EXPECT_EQ(Found(R"(:{"ph":"X"})"), kNowhere);
  EXPECT_EQ(Found(R"("{"ph":"X"})"), kNowhere);
}

TEST(EventStart, AnObjectWithoutAPhaseIsNone) {
  EXPECT_EQ(Found(R"([{"name":"a"},{"args":{"ph":"X"}},{"ph":1}])"), 34);
}

TEST(EventStart, ItsPhaseIsEnough) {
  const std::string text = R"(,{"a":[1,2],"ph":"X","args":{"a":[1,2]}})";
  const size_t behind_phase = 20;
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(Found(text.substr(0, size)), size < behind_phase ? kNowhere : 1) << size;
  }
}

TEST(EventStart, BeginsBeforeTheLimit) {
  const std::string text = R"([{"ph":"X"},{"ph":"i"}])";
  EXPECT_EQ(Found(text, 2, 12), kNowhere);
  EXPECT_EQ(Found(text, 2, 13), 12);
}

// So that what is found does not depend on where the text was cut into pieces.
TEST(EventStart, OnlySoMuchAroundItIsLookedAt) {
  EXPECT_EQ(Found("," + std::string(63, ' ') + R"({"ph":"X"})"), 64);
  EXPECT_EQ(Found("," + std::string(64, ' ') + R"({"ph":"X"})"), kNowhere);
  const auto late = [](size_t bytes) { return R"(,{"a":")" + std::string(bytes, 'x') + R"(","ph":"X"})"; };
  EXPECT_EQ(Found(late(kEventStartBytes - 100)), 1);
  EXPECT_EQ(Found(late(kEventStartBytes)), kNowhere);
}

// Each within the one before: looked through again and again they would take minutes.
TEST(EventStart, ManyInEachOtherAreLookedThroughNotEachToItsEnd) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += R"(,{"a":[)";
  EXPECT_EQ(Found(text), kNowhere);
}

TEST(EventStart, BracesThatBeginNoObjectArePassedBy) {
  EXPECT_EQ(Found(R"(,{,{},{ },{1},{"ph":"X"})"), 14);
}

// A guess, and no more: the reader of the piece before knows.
TEST(EventStart, AStringMayLookLikeOne) {
  EXPECT_EQ(Found(R"([{"name":"a,{"ph":"X"},)", 2), 12);
}

}  // namespace
}  // namespace kprof
