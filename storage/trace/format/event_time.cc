#include "storage/trace/format/event_time.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace kprof {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;
constexpr size_t kFewRuns = 16;            // which are merged
constexpr size_t kFewUnorderedRows = 256;  // which are sorted by comparing
constexpr uint64_t kCloseTogether = 1 << 16;

struct Row {
  uint64_t time;
  uint32_t number;
};

// Radix sort by the bits of `key(row)` from `first_bit` to `end_bit`: a pass for each digit that differs, from the
// lowest.
template <typename AnyRow, typename Key>
void SortByDigits(std::vector<AnyRow>& rows, int first_bit, int end_bit, const Key& key) {
  std::vector<AnyRow> sorted(rows.size());
  for (int shift = first_bit; shift < end_bit; shift += kDigitBits) {
    std::array<uint32_t, kDigits> starts{};
    for (const AnyRow& row : rows) ++starts[(key(row) >> shift) % kDigits];
    if (starts[(key(rows.front()) >> shift) % kDigits] == rows.size()) continue;
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), 0u);
    for (const AnyRow& row : rows) sorted[starts[(key(row) >> shift) % kDigits]++] = row;
    rows.swap(sorted);
  }
}

// Where rows begin that are in their order up to the next begin; nothing where there are more than a few.
std::vector<size_t> RunsOf(std::span<const uint64_t> rows) {
  std::vector<size_t> begins = {0};
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i] >= rows[i - 1]) continue;
    if (begins.size() == kFewRuns) return {};
    begins.push_back(i);
  }
  return begins;
}

// Neighbours with each other, until there is one run. No branch depends on which of two is less.
void MergeRuns(std::vector<uint64_t>& rows, std::vector<size_t> begins) {
  std::vector<uint64_t> merged(rows.size());
  while (begins.size() > 1) {
    std::vector<size_t> fewer;
    for (size_t run = 0; run < begins.size(); run += 2) {
      const auto begin_of = [&](size_t i) { return i < begins.size() ? begins[i] : rows.size(); };
      size_t a = begins[run];
      size_t b = begin_of(run + 1);
      const size_t a_end = b;
      const size_t b_end = begin_of(run + 2);
      size_t to = a;
      fewer.push_back(a);
      while (a < a_end && b < b_end) {
        const bool is_b = rows[b] < rows[a];
        merged[to++] = is_b ? rows[b] : rows[a];
        b += is_b;
        a += !is_b;
      }
      const auto at = [](std::vector<uint64_t>& of, size_t i) { return of.begin() + static_cast<ptrdiff_t>(i); };
      std::copy(at(rows, a), at(rows, a_end), at(merged, to));
      std::copy(at(rows, b), at(rows, b_end), at(merged, to + (a_end - a)));
    }
    rows.swap(merged);
    begins = std::move(fewer);
  }
}

// `is_same(i, j)`: whether the rows at those places of the order have one time.
template <typename IsSame>
void LongestFirst(std::span<uint32_t> order, std::span<const int64_t> durations, const IsSame& is_same) {
  if (durations.empty()) return;
  for (size_t first = 0; first < order.size();) {
    size_t last = first + 1;
    while (last < order.size() && is_same(first, last)) ++last;
    if (last - first > 1) {
      std::stable_sort(order.begin() + static_cast<ptrdiff_t>(first), order.begin() + static_cast<ptrdiff_t>(last),
                       [&](uint32_t a, uint32_t b) { return durations[a] > durations[b]; });
    }
    first = last;
  }
}

void LongestFirst(std::span<uint32_t> order, std::span<const int64_t> times, std::span<const int64_t> durations) {
  LongestFirst(order, durations, [&](size_t i, size_t j) { return times[order[i]] == times[order[j]]; });
}

std::vector<uint32_t> OrderMany(std::span<const int64_t> times, std::span<const int64_t> durations) {
  const auto [min, max] = std::minmax_element(times.begin(), times.end());
  const auto base = static_cast<uint64_t>(*min);
  const auto time_of = [&](size_t i) { return static_cast<uint64_t>(times[i]) - base; };
  const int time_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(*max) - base));
  const int number_bits = static_cast<int>(std::bit_width(times.size()));
  std::vector<uint32_t> order(times.size());
  if (time_bits + number_bits <= 64) {  // as nearly all are: the number below the time
    std::vector<uint64_t> rows(times.size());
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = time_of(i) << number_bits | i;
    if (std::vector<size_t> runs = RunsOf(rows); !runs.empty()) {
      MergeRuns(rows, std::move(runs));
    } else {
      SortByDigits(rows, number_bits, number_bits + time_bits, [](uint64_t row) { return row; });
    }
    const uint64_t number = (uint64_t{1} << number_bits) - 1;
    for (size_t i = 0; i < rows.size(); ++i) order[i] = static_cast<uint32_t>(rows[i] & number);
    LongestFirst(order, durations, [&](size_t i, size_t j) { return (rows[i] ^ rows[j]) <= number; });
    return order;
  }
  std::vector<Row> rows(times.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = {time_of(i), static_cast<uint32_t>(i)};
  SortByDigits(rows, 0, time_bits, [](const Row& row) { return row.time; });
  for (size_t i = 0; i < rows.size(); ++i) order[i] = rows[i].number;
  LongestFirst(order, times, durations);
  return order;
}

}  // namespace

std::vector<uint32_t> OrderByTime(std::span<const int64_t> times, std::span<const int64_t> durations) {
  const bool is_sorted = std::is_sorted(times.begin(), times.end());
  if (!is_sorted && times.size() > kFewUnorderedRows) return OrderMany(times, durations);
  std::vector<uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0u);
  if (!is_sorted) {
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return times[a] < times[b]; });
  }
  LongestFirst(order, times, durations);
  return order;
}

void OrderByTrack(std::span<uint32_t> rows, std::span<const int64_t> tracks) {
  std::vector<int64_t> present;
  for (const uint32_t row : rows) {
    if (present.empty() || present.back() != tracks[row]) present.push_back(tracks[row]);
  }
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  // Which of them a row's is, by number where the numbers lie close together.
  const int64_t least = present.front();
  const uint64_t range = static_cast<uint64_t>(present.back()) - static_cast<uint64_t>(least);
  std::vector<uint32_t> index_of(range < kCloseTogether ? range + 1 : 0);
  for (size_t i = 0; i < present.size() && !index_of.empty(); ++i) {
    index_of[static_cast<size_t>(present[i] - least)] = static_cast<uint32_t>(i);
  }
  auto index = [&](uint32_t row) -> size_t {
    if (!index_of.empty()) return index_of[static_cast<size_t>(tracks[row] - least)];
    return static_cast<size_t>(std::lower_bound(present.begin(), present.end(), tracks[row]) - present.begin());
  };

  std::vector<uint32_t> starts(present.size());
  for (const uint32_t row : rows) ++starts[index(row)];
  std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), 0u);
  std::vector<uint32_t> sorted(rows.size());
  for (const uint32_t row : rows) sorted[starts[index(row)]++] = row;
  std::copy(sorted.begin(), sorted.end(), rows.begin());
}

}  // namespace kprof
