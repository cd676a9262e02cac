#include "daemon/analysis/operators/percentiles.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kprof {
namespace {

constexpr uint32_t kNotNow = UINT32_MAX;
constexpr int kBucketBits = 16;

// Which of n values in their order.
int64_t PlaceOf(double percentile, int64_t count) {
  const auto place = static_cast<int64_t>(std::ceil(percentile / 100 * static_cast<double>(count)));
  return std::clamp<int64_t>(place, 1, count) - 1;
}

// A value that is sought by its place among those from least to most.
struct Search {
  uint32_t group = 0;
  size_t percentile = 0;
  int64_t place = 0;
  uint64_t least = 0;
  uint64_t most = 0;
  int shift = 0;
  std::vector<int64_t> buckets;

  void Begin() {
    shift = 0;
    while ((most - least) >> shift >= (uint64_t{1} << kBucketBits)) ++shift;
    buckets.assign(((most - least) >> shift) + 1, 0);
  }
  void See(int64_t value) {
    const auto at = static_cast<uint64_t>(value);
    if (value >= 0 && at >= least && at <= most) ++buckets[(at - least) >> shift];
  }
  void Narrow() {
    size_t bucket = 0;
    while (bucket + 1 < buckets.size() && place >= buckets[bucket]) place -= buckets[bucket++];
    least += static_cast<uint64_t>(bucket) << shift;
    most = std::min(most, least + ((uint64_t{1} << shift) - 1));
    buckets = {};
  }
};

class Passes {
 public:
  Passes(std::span<const ValueCount> counts, std::span<const double> percentiles, const ForEachValue& for_each)
      : counts_(counts), percentiles_(percentiles), for_each_(for_each), results_(counts.size()) {}

  // Groups whose values have a place together.
  Status Sort(std::span<const uint32_t> groups) {
    std::vector<uint32_t> slots(counts_.size(), kNotNow);
    std::vector<size_t> begins;
    std::vector<size_t> ends;
    size_t size = 0;
    for (const uint32_t group : groups) {
      slots[group] = static_cast<uint32_t>(begins.size());
      begins.push_back(size);
      ends.push_back(size);
      size += static_cast<size_t>(counts_[group].count);
    }
    std::vector<int64_t> values(size);
    RETURN_IF_ERROR(for_each_([&](std::span<const uint32_t> of, std::span<const int64_t> seen) {
      for (size_t i = 0; i < of.size(); ++i) {
        const uint32_t slot = slots[of[i]];
        if (slot == kNotNow || seen[i] < 0) continue;
        const size_t limit = slot + 1 < begins.size() ? begins[slot + 1] : size;
        if (ends[slot] < limit) values[ends[slot]++] = seen[i];
      }
    }));
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto begin = values.begin() + static_cast<ptrdiff_t>(begins[i]);
      const auto end = values.begin() + static_cast<ptrdiff_t>(ends[i]);
      for (const double percentile : percentiles_) {
        if (begin == end) break;
        const auto at = begin + PlaceOf(percentile, end - begin);
        std::nth_element(begin, at, end);
        results_[groups[i]].push_back(*at);
      }
    }
    return OkStatus();
  }

  // Groups that are too large for that.
  Status Search(std::span<const uint32_t> groups) {
    std::vector<struct Search> searches;
    std::vector<std::pair<uint32_t, uint32_t>> of_groups(counts_.size());  // which of the searches
    for (const uint32_t group : groups) {
      results_[group].resize(percentiles_.size());
      of_groups[group].first = static_cast<uint32_t>(searches.size());
      for (size_t i = 0; i < percentiles_.size(); ++i) {
        searches.push_back({.group = group,
                            .percentile = i,
                            .place = PlaceOf(percentiles_[i], counts_[group].count),
                            .least = static_cast<uint64_t>(std::max<int64_t>(counts_[group].min, 0)),
                            .most = static_cast<uint64_t>(std::max<int64_t>(counts_[group].max, 0))});
      }
      of_groups[group].second = static_cast<uint32_t>(searches.size());
    }
    const auto is_open = [](const struct Search& search) { return search.least < search.most; };
    while (std::any_of(searches.begin(), searches.end(), is_open)) {
      for (struct Search& search : searches) search.Begin();
      RETURN_IF_ERROR(for_each_([&](std::span<const uint32_t> of, std::span<const int64_t> seen) {
        for (size_t i = 0; i < of.size(); ++i) {
          for (uint32_t at = of_groups[of[i]].first; at < of_groups[of[i]].second; ++at) searches[at].See(seen[i]);
        }
      }));
      for (struct Search& search : searches) search.Narrow();
    }
    for (const struct Search& search : searches) {
      results_[search.group][search.percentile] = static_cast<int64_t>(search.least);
    }
    return OkStatus();
  }

  std::vector<std::vector<int64_t>> TakeResults() { return std::move(results_); }

 private:
  const std::span<const ValueCount> counts_;
  const std::span<const double> percentiles_;
  const ForEachValue& for_each_;
  std::vector<std::vector<int64_t>> results_;
};

}  // namespace

Result<std::vector<std::vector<int64_t>>> ExactPercentiles(std::span<const ValueCount> counts,
                                                           std::span<const double> percentiles,
                                                           const ForEachValue& for_each, size_t most_values) {
  Passes passes(counts, percentiles, for_each);
  std::vector<uint32_t> large;
  std::vector<uint32_t> together;
  size_t values = 0;
  for (uint32_t group = 0; group < counts.size() && !percentiles.empty(); ++group) {
    const auto count = static_cast<size_t>(counts[group].count);
    if (count == 0) continue;
    if (count > most_values) {
      large.push_back(group);
      continue;
    }
    if (values + count > most_values) {
      RETURN_IF_ERROR(passes.Sort(together));
      together.clear();
      values = 0;
    }
    together.push_back(group);
    values += count;
  }
  if (!together.empty()) RETURN_IF_ERROR(passes.Sort(together));
  if (!large.empty()) RETURN_IF_ERROR(passes.Search(large));
  return passes.TakeResults();
}

}  // namespace kprof
