#include "daemon/ingest/source/reading_limits.h"

#include <algorithm>

namespace kprof {
namespace {

constexpr int64_t kForAnything = int64_t{192} << 20;  // of address space, for the rows that are under way
constexpr double kLeast = 1.0 / 64;

}  // namespace

ReadingLimits ReadingLimitsFor(int64_t memory_bytes) {
  const double share = std::clamp(
      static_cast<double>(memory_bytes - kForAnything) / static_cast<double>(kMemoryForAllLimits - kForAnything),
      kLeast, 1.0);
  const auto part_of = [share](auto most) { return static_cast<decltype(most)>(share * static_cast<double>(most)); };
  const ReadingLimits all;
  return {part_of(all.text_bytes), part_of(all.tracks), part_of(all.shapes), part_of(all.event_bytes)};
}

}  // namespace kprof
