#include "storage/trace/time_order.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace kprof {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;
constexpr size_t kFewRows = 256;  // which are sorted by comparing
constexpr uint64_t kCloseTogether = 1 << 16;

// Radix sort: a pass for each digit in which the times differ, from the lowest.
std::vector<uint32_t> OrderMany(std::span<const int64_t> times, int64_t min, uint64_t range) {
  struct Row {
    uint64_t time;
    uint32_t number;
  };
  std::vector<Row> rows(times.size());
  std::vector<Row> sorted(times.size());
  for (size_t i = 0; i < times.size(); ++i) {
    rows[i] = {static_cast<uint64_t>(times[i]) - static_cast<uint64_t>(min), static_cast<uint32_t>(i)};
  }
  const int bits = static_cast<int>(std::bit_width(range));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    std::vector<uint32_t> starts(kDigits);
    for (const Row& row : rows) ++starts[(row.time >> shift) % kDigits];
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), 0u);
    for (const Row& row : rows) sorted[starts[(row.time >> shift) % kDigits]++] = row;
    rows.swap(sorted);
  }
  std::vector<uint32_t> order(times.size());
  for (size_t i = 0; i < times.size(); ++i) order[i] = rows[i].number;
  return order;
}

void LongestFirst(std::span<uint32_t> order, std::span<const int64_t> times, std::span<const int64_t> durations) {
  for (size_t first = 0; first < order.size();) {
    size_t last = first + 1;
    while (last < order.size() && times[order[last]] == times[order[first]]) ++last;
    if (last - first > 1) {
      std::stable_sort(order.begin() + static_cast<ptrdiff_t>(first), order.begin() + static_cast<ptrdiff_t>(last),
                       [&](uint32_t a, uint32_t b) { return durations[a] > durations[b]; });
    }
    first = last;
  }
}

}  // namespace

std::vector<uint32_t> OrderByTime(std::span<const int64_t> times, std::span<const int64_t> durations) {
  std::vector<uint32_t> order(times.size());
  if (std::is_sorted(times.begin(), times.end())) {
    std::iota(order.begin(), order.end(), 0u);
  } else if (times.size() <= kFewRows) {
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return times[a] < times[b]; });
  } else {
    const auto [min, max] = std::minmax_element(times.begin(), times.end());
    order = OrderMany(times, *min, static_cast<uint64_t>(*max) - static_cast<uint64_t>(*min));
  }
  if (!durations.empty()) LongestFirst(order, times, durations);
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
