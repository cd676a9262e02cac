#include "client/cli/waiting/queue_place.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

TEST(QueuePlace, SaysHowManyComeBeforeAndHowLongThatMayTake) {
  EXPECT_EQ(QueuePlaceText({}), "");
  EXPECT_EQ(QueuePlaceText({1, std::nullopt}), "next");
  EXPECT_EQ(QueuePlaceText({3, 999}), "2 before it");
  EXPECT_EQ(QueuePlaceText({3, 90'000}, 40'000'000'000), "2 before it, about 50s to wait");
}

TEST(QueuePlace, IsNotInJsonForWhoDoesNotWait) {
  std::string text;
  JsonWriter json(text);
  json.BeginArray().BeginObject();
  WriteQueuePlace(json, {});
  json.EndObject().BeginObject();
  WriteQueuePlace(json, {2, 1500});
  json.EndObject().EndArray();
  EXPECT_EQ(text, R"([{},{"queue_position":2,"estimated_wait_ms":1500}])");
}

}  // namespace
}  // namespace kprof::cli
