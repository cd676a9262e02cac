#include "daemon/ingest/source/source_formats.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(ReadingLimits, AreWhatIsPromisedWhereThereIsTheMemory) {
  EXPECT_EQ(ReadingLimitsFor(kMemoryForAllLimits), ReadingLimits());
  EXPECT_EQ(ReadingLimitsFor(int64_t{1} << 50), ReadingLimits());
}

TEST(ReadingLimits, AreLessWhereThereIsLess) {
  const ReadingLimits half = ReadingLimitsFor(608 * kMiB);
  EXPECT_EQ(half.text_bytes, 96 * kMiB);
  EXPECT_EQ(half.tracks, 1u << 19);
  EXPECT_EQ(half.shapes, 1u << 19);
  EXPECT_EQ(half.event_bytes, 32 * kMiB);
}

TEST(ReadingLimits, LeaveSomethingHoweverLittleThereIs) {
  for (const int64_t memory_bytes : {0 * kMiB, 64 * kMiB, 192 * kMiB}) {
    EXPECT_EQ(ReadingLimitsFor(memory_bytes).event_bytes, kMiB);
    EXPECT_EQ(ReadingLimitsFor(memory_bytes).tracks, 1u << 14);
  }
}

}  // namespace
}  // namespace kprof
