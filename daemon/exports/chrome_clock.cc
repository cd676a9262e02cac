#include "daemon/exports/chrome_clock.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr std::string_view kBaseFact = "source.baseTimeNanoseconds";
constexpr std::string_view kSourceZeroFact = "base_source_ns";
constexpr int64_t kMostSourceNs = kMostTimeNs / 2;  // so that it has a sum with any time
constexpr int64_t kMostZeroNs = kMostTimeNs / 4;
constexpr int64_t kFirstNs = 1000;  // of the earliest event, where there are some before the base
constexpr int64_t kEarliestUnixNs = 946'684'800'000'000'000;  // 2000
constexpr int64_t kLatestUnixNs = 2'000'000'000'000'000'000;  // 2033: what has a sum in 64 bits with any time

std::optional<int64_t> IntegerOf(std::string_view text) {
  if (text.size() > 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

int64_t EarliestOf(const PartReader& part) {
  int64_t earliest = 0;
  for (const EventKind kind : {EventKind::kSlice, EventKind::kInstant, EventKind::kCounter, EventKind::kFlow}) {
    for (const Segment& segment : part.segments(kind)) earliest = std::min(earliest, segment.min_time_ns);
  }
  return std::max(earliest, -kMostZeroNs);
}

// So that nothing is before 0.
int64_t ZeroAfter(int64_t earliest_ns) {
  return earliest_ns < 0 ? kFirstNs - earliest_ns : 0;
}

bool IsChrome(const PartReader& part) {
  const std::string format = part.TextFact("source_format").value_or("chrome");
  return format == "chrome" || format == "kineto";
}

ChromeClock ClockOfOne(const PartReader& part) {
  // A Chrome trace has the times that it had.
  const std::optional<int64_t> source_zero = part.IntegerFact(kSourceZeroFact);
  if (source_zero && *source_zero > -kMostSourceNs && *source_zero < kMostSourceNs && IsChrome(part)) {
    return {{*source_zero}, std::nullopt};
  }
  // Those that were made before a part said which ones these were.
  const std::optional<int64_t> base = part.IntegerFact("base_unix_ns");
  const std::optional<std::string> written = part.TextFact(kBaseFact);
  const std::optional<int64_t> source_base = written ? IntegerOf(*written) : std::nullopt;
  int64_t zero = 0;
  if (base && source_base && !__builtin_sub_overflow(*base, *source_base, &zero) && zero < kMostZeroNs &&
      zero > -kMostZeroNs) {
    return {{zero}, std::nullopt};
  }
  // A Chrome trace that says no base and of which one is known has times since 1970.
  if (base && !written && IsChrome(part) && *base > kEarliestUnixNs && *base < kLatestUnixNs) {
    return {{*base}, std::nullopt};
  }
  zero = ZeroAfter(EarliestOf(part));
  int64_t at_zero = 0;
  if (!base || written || __builtin_sub_overflow(*base, zero, &at_zero)) return {{zero}, std::nullopt};
  return {{zero}, at_zero};
}

}  // namespace

ChromeClock ChromeClockOf(std::span<const ExportPart> parts) {
  if (parts.size() == 1) return ClockOfOne(*parts[0].reader);
  ChromeClock clock;
  std::optional<int64_t> least;
  bool are_known = true;
  int64_t earliest = 0;
  for (const auto& [part, rank] : parts) {
    const std::optional<int64_t> base = part->IntegerFact("base_unix_ns");
    are_known &= base && *base > 0;
    if (base && (!least || *base < *least)) least = *base;
    earliest = std::min(earliest, EarliestOf(*part));
  }
  const int64_t zero = ZeroAfter(earliest);
  for (const auto& [part, rank] : parts) {
    const int64_t after = are_known ? *part->IntegerFact("base_unix_ns") - *least : 0;
    are_known &= after < kMostZeroNs;
    clock.zero_ns.push_back(zero + after);
  }
  if (!are_known) {
    clock.zero_ns.assign(parts.size(), zero);
  } else if (least) {
    clock.base_unix_ns = *least - zero;
  }
  return clock;
}

}  // namespace kprof
