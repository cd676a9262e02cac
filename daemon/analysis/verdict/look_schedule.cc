#include "daemon/analysis/verdict/look_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "storage/base/status.h"

namespace kprof {
namespace {

// Points of Simpson's rule over what one look continues with: from 0 to its limit, as the density is symmetric. Odd; 41
// give the level to four digits.
constexpr int kSimpsonPoints = 41;

double TwoSidedTail(double z) {
  return std::erfc(z / std::numbers::sqrt2);
}

// The z that a normal value exceeds on either side with the chance `tail`.
double TwoSidedQuantile(double tail) {
  double low = 0;
  double high = 40;
  while (high - low > 1e-9) {
    const double z = (low + high) / 2;
    (TwoSidedTail(z) > tail ? low : high) = z;
  }
  return low;
}

double NormalDensity(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
}

double SimpsonWeight(int point) {
  if (point == 0 || point == kSimpsonPoints - 1) return 1.0 / 3;
  return point % 2 == 1 ? 4.0 / 3 : 2.0 / 3;
}

// The chance that a sum without a trend is `limit` of its standard deviations away from 0 at one look at least. The sum
// is a random walk whose variance at a look is the number of its blocks. The density of those that have not crossed is
// carried from look to look.
double ChanceOfCrossing(double limit, int64_t looks) {
  const auto step_at = [&](int64_t look) {
    return limit * std::sqrt(static_cast<double>(BlocksOfLook(look))) / (kSimpsonPoints - 1);
  };
  std::vector<double> density(kSimpsonPoints);
  double step = step_at(1);
  const double first_deviation = std::sqrt(static_cast<double>(BlocksOfLook(1)));
  for (int i = 0; i < kSimpsonPoints; ++i) density[i] = NormalDensity(i * step / first_deviation) / first_deviation;
  for (int64_t look = 2; look <= looks; ++look) {
    const double deviation = std::sqrt(static_cast<double>(BlocksOfLook(look) - BlocksOfLook(look - 1)));
    const double next_step = step_at(look);
    std::vector<double> next(kSimpsonPoints);
    for (int to = 0; to < kSimpsonPoints; ++to) {
      double sum = 0;
      for (int from = 0; from < kSimpsonPoints; ++from) {
        const double near = (to * next_step - from * step) / deviation;
        const double far = (to * next_step + from * step) / deviation;
        sum += SimpsonWeight(from) * density[from] * (NormalDensity(near) + NormalDensity(far));
      }
      next[to] = sum * step / deviation;
    }
    density = std::move(next);
    step = next_step;
  }
  double inside = 0;
  for (int i = 0; i < kSimpsonPoints; ++i) inside += SimpsonWeight(i) * density[i];
  return 1 - 2 * inside * step;
}

}  // namespace

int64_t BlocksOfLook(int64_t look) {
  KPROF_CHECK(look >= 1 && look <= kMostLooks);
  const int64_t doublings = (look - 1) / 2;
  return (look % 2 == 1 ? kLeastBlocks : int64_t{7}) << doublings;
}

bool LooksAgainAt(int64_t blocks) {
  for (int64_t look = 1; look <= kMostLooks; ++look) {
    if (BlocksOfLook(look) == blocks) return true;
  }
  return false;
}

int64_t LooksUpTo(int64_t blocks) {
  int64_t looks = 1;
  while (looks < kMostLooks && BlocksOfLook(looks + 1) <= blocks) ++looks;
  return looks;
}

double LevelOfEachLook(double alpha, int64_t looks) {
  KPROF_CHECK(alpha > 0 && alpha < 1);
  looks = std::clamp<int64_t>(looks, 1, kMostLooks);
  if (looks == 1) return alpha;
  // The chance of all looks grows almost as a power of that of each: a few steps of the secant method, on logarithms.
  const auto excess = [&](double log_level) {
    return std::log(ChanceOfCrossing(TwoSidedQuantile(std::exp(log_level)), looks) / alpha);
  };
  double last = std::log(alpha);
  double level = std::log(alpha / std::sqrt(static_cast<double>(looks)));
  double last_excess = excess(last);
  for (int turn = 0; turn < 8; ++turn) {
    const double found = excess(level);
    if (std::abs(found) < 1e-5 || found == last_excess) break;
    const double next = level - found * (level - last) / (found - last_excess);
    last = std::exchange(level, next);
    last_excess = found;
  }
  // Never more than all together, nor less than an equal share, which is right whatever the looks have in common.
  return std::exp(std::clamp(level, std::log(alpha / static_cast<double>(looks)), std::log(alpha)));
}

}  // namespace kprof
