#include "daemon/ingest/assemble/span_pairing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "tests/fakes/ingest/row_text.h"

namespace kprof {
namespace {

using Rows = std::vector<std::string>;

// Names, categories and keys are their numbers.
class OpenSpansTest : public testing::Test {
 protected:
  struct Event {
    char phase = 'B';
    int64_t time = 0;
    int64_t track = 0;
    int64_t name = 0;
    uint32_t shape = kNoArgs;
    std::vector<int64_t> args = {};
  };

  OpenSpansTest() : shapes_(1) {}

  uint32_t Shape(const ArgShape& shape) {
    const auto [found, is_new] = numbers_.try_emplace(shape, static_cast<uint32_t>(shapes_.size()));
    if (is_new) shapes_.push_back(shape);
    return found->second;
  }
  Status Take(std::initializer_list<Event> events) {
    EventRows metadata;
    for (const Event& event : events) {
      metadata.of(EventColumn::kPhase).push_back(event.phase);
      metadata.of(EventColumn::kTime).push_back(event.time);
      metadata.of(EventColumn::kTrack).push_back(event.track);
      metadata.of(EventColumn::kName).push_back(event.name);
      metadata.of(EventColumn::kCategory).push_back(0);
      metadata.of(EventColumn::kShape).push_back(event.shape);
      if (event.shape == kNoArgs) continue;
      if (metadata.args.size() <= event.shape) metadata.args.resize(event.shape + 1);
      metadata.args[event.shape].resize(event.args.size());
      for (size_t slot = 0; slot < event.args.size(); ++slot) {
        if (HasColumn(shapes_[event.shape][slot].type)) metadata.args[event.shape][slot].push_back(event.args[slot]);
      }
    }
    const Status status = spans_.Take(metadata, slices_, instants_);
    for (const std::string& row : Texts(EventKind::kMetadata, metadata)) metadata_.push_back(row);
    return status;
  }
  Rows Texts(EventKind kind, const EventRows& rows) const {
    const auto number = [](int64_t id) { return std::to_string(id); };
    return TextsOf(kind, rows, {number, number, [this](int64_t id) -> const ArgShape& {
                                  return shapes_.at(static_cast<size_t>(id));
                                }});
  }
  Rows Slices() const { return Texts(EventKind::kSlice, slices_); }

  std::vector<ArgShape> shapes_;
  std::map<ArgShape, uint32_t> numbers_;
  EventRows slices_;
  EventRows instants_;
  Rows metadata_;
  SpanPairing spans_{shapes_, [this](const ArgShape& shape) { return Result<uint32_t>(Shape(shape)); }, 4};
};

TEST_F(OpenSpansTest, ABeginAndItsEndAreASlice) {
  ASSERT_TRUE(Take({{'B', 10, 1, 7}, {'E', 25, 1}}).ok());
  EXPECT_EQ(Slices(), Rows{"slice 10+15 1 7/0"});
  EXPECT_EQ(metadata_, Rows{});
}

TEST_F(OpenSpansTest, TheInnermostEndsFirst) {
  ASSERT_TRUE(Take({{'B', 10, 1, 7}, {'B', 12, 1, 8}, {'B', 11, 2, 9}, {'E', 20, 1}, {'E', 21, 2}, {'E', 30, 1}}).ok());
  EXPECT_EQ(Slices(), (Rows{"slice 12+8 1 8/0", "slice 11+10 2 9/0", "slice 10+20 1 7/0"}));
}

TEST_F(OpenSpansTest, AnEndMayComeManyBatchesLater) {
  ASSERT_TRUE(Take({{'B', 10, 1, 7}}).ok());
  ASSERT_TRUE(Take({{'M', 0, 1, 5}}).ok());
  ASSERT_TRUE(Take({{'E', 20, 1}}).ok());
  EXPECT_EQ(Slices(), Rows{"slice 10+10 1 7/0"});
  EXPECT_EQ(metadata_, Rows{"metadata 0 1 5/0 M"});
}

TEST_F(OpenSpansTest, ASliceHasTheArgumentsOfBoth) {
  const uint32_t in = Shape({{3, ArgType::kInteger}, {4, ArgType::kTrue}});
  const uint32_t out = Shape({{5, ArgType::kInteger, true}});
  ASSERT_TRUE(Take({{'B', 10, 1, 7, in, {100, 0}},
                    {'E', 20, 1, 0, out, {200}},
                    {'B', 30, 1, 7},
                    {'E', 31, 1, 0, out, {300}},
                    {'B', 40, 1, 7, in, {101, 0}},
                    {'E', 41, 1}})
                  .ok());
  EXPECT_EQ(Slices(), (Rows{"slice 10+10 1 7/0 {3=100, 4=true, *5=200}", "slice 30+1 1 7/0 {*5=300}",
                            "slice 40+1 1 7/0 {3=101, 4=true}"}));
}

TEST_F(OpenSpansTest, WhatHasMoreArgumentsThanMayBeEndsWithThoseOfItsBegin) {
  ArgShape half;
  for (uint32_t key = 0; key < 600; ++key) half.push_back({key, ArgType::kNull});
  const uint32_t many = Shape(half);
  const std::vector<int64_t> none(600);
  ASSERT_TRUE(Take({{'B', 10, 1, 7, many, none}, {'E', 20, 1, 8, many, none}}).ok());
  ASSERT_EQ(Slices().size(), 1u);
  EXPECT_TRUE(Slices()[0].starts_with("slice 10+10 1 7/0 {0=null"));
  ASSERT_EQ(metadata_.size(), 1u);  // the end's are kept as well
  EXPECT_TRUE(metadata_[0].starts_with("metadata 20 1 8/0 E {0=null"));
}

TEST_F(OpenSpansTest, AnEndWithoutABeginStaysMetadata) {
  const uint32_t shape = Shape({{5, ArgType::kInteger}});
  ASSERT_TRUE(Take({{'E', 5, 1, 7, shape, {9}}, {'B', 10, 2, 7}, {'E', 15, 1}}).ok());
  EXPECT_EQ(metadata_, (Rows{"metadata 5 1 7/0 E {5=9}", "metadata 15 1 0/0 E"}));
  EXPECT_EQ(spans_.ends_alone(), 2);
}

TEST_F(OpenSpansTest, ABeginWithoutAnEndIsASliceWhoseEndIsNotKnown) {
  const uint32_t shape = Shape({{5, ArgType::kInteger}});
  ASSERT_TRUE(Take({{'B', 10, 1, 7, shape, {9}}, {'b', 11, 2, 8}}).ok());
  ASSERT_TRUE(spans_.TakeOpen(slices_).ok());
  Rows slices = Slices();
  std::sort(slices.begin(), slices.end());
  EXPECT_EQ(slices, (Rows{"slice 10+? 1 7/0 {5=9}", "slice 11+? 2 8/0"}));
  EXPECT_EQ(spans_.begins_alone(), 2);
  ASSERT_TRUE(spans_.TakeOpen(slices_).ok());
  EXPECT_EQ(Slices().size(), 2u);  // once
}

TEST_F(OpenSpansTest, AnEndBeforeItsBeginIsMetadata) {
  ASSERT_TRUE(Take({{'B', 10, 1, 7}, {'E', 5, 1}, {'B', 10, 1, 7}, {'E', 10, 1}}).ok());
  EXPECT_EQ(Slices(), (Rows{"slice 10+? 1 7/0", "slice 10+0 1 7/0"}));
  EXPECT_EQ(metadata_, Rows{"metadata 5 1 0/0 E"});
  EXPECT_EQ(spans_.ends_early(), 1);
}

TEST_F(OpenSpansTest, AnEndOfAnotherNameIsMetadataToo) {
  const uint32_t shape = Shape({{5, ArgType::kInteger}});
  ASSERT_TRUE(Take({{'B', 1, 1, 7}, {'E', 5, 1, 8, shape, {9}}, {'B', 6, 1, 7}, {'E', 7, 1, 7}}).ok());
  EXPECT_EQ(Slices(), (Rows{"slice 1+4 1 7/0 {5=9}", "slice 6+1 1 7/0"}));
  EXPECT_EQ(metadata_, Rows{"metadata 5 1 8/0 E"});
  EXPECT_EQ(spans_.ends_early(), 0);
  EXPECT_EQ(spans_.ends_misnamed(), 1);
}

TEST_F(OpenSpansTest, OnAnAsyncTrackTheOneOfTheSameNameEnds) {
  ASSERT_TRUE(Take({{'b', 1, 1, 7}, {'b', 2, 1, 8}, {'e', 5, 1, 7}, {'e', 6, 1, 9}}).ok());
  EXPECT_EQ(Slices(), (Rows{"slice 1+4 1 7/0", "slice 2+4 1 8/0"}));
  EXPECT_EQ(metadata_, Rows{"metadata 6 1 9/0 e"});
}

TEST_F(OpenSpansTest, InstantsOfAsyncTracksAreInstants) {
  const uint32_t shape = Shape({{5, ArgType::kInteger}});
  ASSERT_TRUE(Take({{'n', 3, 1, 7, shape, {1}}}).ok());
  EXPECT_EQ(Texts(EventKind::kInstant, instants_), Rows{"instant 3 1 7/0 {5=1}"});
  EXPECT_EQ(metadata_, Rows{});
}

TEST_F(OpenSpansTest, OtherMetadataStaysAsItIs) {
  const uint32_t shape = Shape({{5, ArgType::kInteger}});
  ASSERT_TRUE(Take({{'M', 1, 1, 7, shape, {1}}, {'B', 2, 1, 7}, {'M', 3, 1, 8, shape, {2}}}).ok());
  EXPECT_EQ(metadata_, (Rows{"metadata 1 1 7/0 M {5=1}", "metadata 3 1 8/0 M {5=2}"}));
}

TEST_F(OpenSpansTest, OfMoreThanMayBeOpenTheOldestHasNoEnd) {
  ASSERT_TRUE(Take({{'B', 1, 1, 7}, {'B', 2, 2, 7}, {'b', 3, 3, 8}, {'B', 4, 1, 9}, {'E', 5, 1}, {'B', 6, 1, 9}}).ok());
  EXPECT_EQ(spans_.given_up(), 0);
  ASSERT_TRUE(Take({{'B', 7, 2, 9}, {'B', 8, 1, 9}}).ok());
  EXPECT_EQ(Slices(), (Rows{"slice 4+1 1 9/0", "slice 1+? 1 7/0", "slice 2+? 2 7/0"}));
  EXPECT_EQ(spans_.given_up(), 2);
  ASSERT_TRUE(Take({{'E', 9, 1}, {'E', 10, 1}, {'E', 11, 1}}).ok());
  EXPECT_EQ(metadata_, Rows{"metadata 11 1 0/0 E"});  // that of the first
  ASSERT_TRUE(spans_.TakeOpen(slices_).ok());
  EXPECT_EQ(spans_.begins_alone(), 2);
}

TEST_F(OpenSpansTest, ThoseThatNeverEndComeInTheOrderInWhichTheyBegan) {
  ASSERT_TRUE(Take({{'B', 1, 9, 7}, {'b', 2, 2, 7}, {'B', 3, 5, 7}, {'B', 4, 2, 7}, {'E', 5, 5}}).ok());
  ASSERT_TRUE(spans_.TakeOpen(slices_).ok());
  EXPECT_EQ(Slices(), (Rows{"slice 3+2 5 7/0", "slice 1+? 9 7/0", "slice 2+? 2 7/0", "slice 4+? 2 7/0"}));
}

}  // namespace
}  // namespace kprof
