#include "daemon/ingest/assemble/span_pairing.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace kprof {
namespace {

int64_t TimeOf(const std::optional<SpanEvent>& begin) {
  return begin ? begin->time : -1;
}

TEST(UnendedSpans, TheLastOfATrackComesFirst) {
  UnendedSpans spans;
  EXPECT_EQ(TimeOf(spans.TakeLast(7)), -1);
  spans.Add({.time = 1, .track = 7, .phase = 'B', .args = {4, 5}});
  spans.Add({.time = 2, .track = 8, .phase = 'B'});
  spans.Add({.time = 3, .track = 7, .phase = 'B'});
  EXPECT_EQ(spans.size(), 3u);
  EXPECT_EQ(TimeOf(spans.TakeLast(7)), 3);
  const std::optional<SpanEvent> first = spans.TakeLast(7);
  EXPECT_EQ(TimeOf(first), 1);
  EXPECT_EQ(first->args, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(TimeOf(spans.TakeLast(7)), -1);
  EXPECT_EQ(spans.size(), 1u);
}

TEST(UnendedSpans, AsyncOnesAreFoundByTheirNames) {
  UnendedSpans spans;
  spans.Add({.time = 1, .track = 7, .name = 1, .phase = 'b'});
  spans.Add({.time = 2, .track = 7, .name = 2, .phase = 'b'});
  spans.Add({.time = 3, .track = 7, .name = 1, .phase = 'b'});
  spans.Add({.time = 4, .track = 7, .name = 3, .phase = 'B'});
  EXPECT_EQ(TimeOf(spans.TakeLastNamed(7, 1)), 3);
  EXPECT_EQ(TimeOf(spans.TakeLastNamed(8, 1)), -1);
  EXPECT_EQ(TimeOf(spans.TakeLastNamed(7, 3)), -1);
  EXPECT_EQ(TimeOf(spans.TakeLastNamed(7, 1)), 1);
  EXPECT_EQ(TimeOf(spans.TakeLastNamed(7, 1)), -1);
}

TEST(UnendedSpans, TheOldestIsTheOneThatWasAddedFirst) {
  UnendedSpans spans;
  for (int64_t i = 1; i <= 4; ++i) spans.Add({.time = 10 - i, .track = i % 2, .name = i, .phase = 'b'});
  EXPECT_EQ(TimeOf(spans.TakeOldest()), 9);
  EXPECT_EQ(TimeOf(spans.TakeLastNamed(0, 2)), 8);
  EXPECT_EQ(TimeOf(spans.TakeOldest()), 7);
  spans.Add({.time = 1, .track = 1, .phase = 'B'});
  EXPECT_EQ(TimeOf(spans.TakeOldest()), 6);
  EXPECT_EQ(TimeOf(spans.TakeOldest()), 1);
  EXPECT_EQ(TimeOf(spans.TakeOldest()), -1);
}

// Against a plain list, which is searched.
TEST(UnendedSpans, IsWhatAListIs) {
  std::mt19937 random(4);
  UnendedSpans spans;
  std::vector<SpanEvent> list;
  auto take = [&](auto fits, bool from_front) {
    const auto count = static_cast<int64_t>(list.size());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = from_front ? i : count - 1 - i;
      const int64_t time = list[static_cast<size_t>(at)].time;
      if (!fits(list[static_cast<size_t>(at)])) continue;
      list.erase(list.begin() + at);
      return time;
    }
    return int64_t{-1};
  };
  for (int64_t time = 0; time < 20'000; ++time) {
    const int64_t track = random() % 5;
    const int64_t name = random() % 4;
    switch (random() % 6) {
      case 0:
        ASSERT_EQ(TimeOf(spans.TakeLast(track)), take([&](const SpanEvent& e) { return e.track == track; }, false));
        break;
      case 1:
        ASSERT_EQ(
            TimeOf(spans.TakeLastNamed(track, name)),
            take([&](const SpanEvent& e) { return e.track == track && e.name == name && e.phase == 'b'; }, false));
        break;
      case 2:
        ASSERT_EQ(TimeOf(spans.TakeOldest()), take([](const SpanEvent&) { return true; }, true));
        break;
      default:
        list.push_back({.time = time, .track = track, .name = name, .phase = random() % 2 == 0 ? 'b' : 'B'});
        spans.Add(list.back());
    }
    ASSERT_EQ(spans.size(), list.size());
  }
}

// A search for each would take minutes.
TEST(UnendedSpans, AnyNumberOfNamesMayBeOpen) {
  constexpr int64_t kNames = 300'000;
  UnendedSpans spans;
  for (int64_t name = 0; name < kNames; ++name) spans.Add({.time = name, .track = 1, .name = name, .phase = 'b'});
  for (int64_t name = 0; name < kNames; ++name) ASSERT_EQ(TimeOf(spans.TakeLastNamed(1, name)), name);
}

}  // namespace
}  // namespace kprof
