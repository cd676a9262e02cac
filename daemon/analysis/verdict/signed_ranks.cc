#include "daemon/analysis/verdict/signed_ranks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace kprof {
namespace {

constexpr size_t kMostExactDifferences = 200;

struct RankedDifferences {
  std::vector<int64_t> double_ranks;  // twice the rank by size, the middle one for ties: a whole number
  int64_t positive = 0;               // the sum of those of positive differences
  int64_t all = 0;                    // the sum of all
};

RankedDifferences Ranked(std::span<const double> differences) {
  std::vector<double> kept;
  for (const double difference : differences) {
    if (difference != 0) kept.push_back(difference);
  }
  std::sort(kept.begin(), kept.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  RankedDifferences ranked;
  for (size_t begin = 0; begin < kept.size();) {
    size_t end = begin;
    while (end < kept.size() && std::abs(kept[end]) == std::abs(kept[begin])) ++end;
    const auto rank = static_cast<int64_t>(begin + 1 + end);
    for (size_t i = begin; i < end; ++i) {
      ranked.double_ranks.push_back(rank);
      ranked.all += rank;
      if (kept[i] > 0) ranked.positive += rank;
    }
    begin = end;
  }
  return ranked;
}

}  // namespace

double SignFlipPValue(std::span<const double> differences) {
  const RankedDifferences ranked = Ranked(differences);
  if (ranked.double_ranks.empty()) return 1;
  // The sum is symmetric around half of all.
  const int64_t least = std::min(ranked.positive, ranked.all - ranked.positive);
  if (2 * least >= ranked.all) return 1;
  if (ranked.double_ranks.size() > kMostExactDifferences) {
    double squares = 0;
    for (const int64_t rank : ranked.double_ranks) squares += static_cast<double>(rank) * static_cast<double>(rank);
    const double distance = (static_cast<double>(ranked.all) / 2 - static_cast<double>(least)) / std::sqrt(squares / 4);
    return std::min(1.0, std::erfc(distance / std::numbers::sqrt2));
  }
  // The share of all flips by their sum, one difference after the other.
  std::vector<double> shares(static_cast<size_t>(ranked.all) + 1, 0.0);
  shares[0] = 1;
  int64_t most = 0;
  for (const int64_t rank : ranked.double_ranks) {
    most += rank;
    for (int64_t sum = most; sum >= 0; --sum) {
      shares[sum] = (shares[sum] + (sum >= rank ? shares[sum - rank] : 0)) / 2;
    }
  }
  double beyond = 0;
  for (int64_t sum = 0; sum <= least; ++sum) beyond += shares[sum];
  return std::min(1.0, 2 * beyond);
}

}  // namespace kprof
