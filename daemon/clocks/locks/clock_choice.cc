#include "daemon/clocks/locks/clock_choice.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace kprof {
namespace {

// Of the maximum SM clock, in percent. A card with little power reaches its limit far below its maximum.
struct Share {
  std::string_view architecture;
  uint32_t percent;
};
constexpr Share kShares[] = {
    {"Volta", 80}, {"Turing", 75}, {"Ampere", 78}, {"Ada", 70}, {"Hopper", 76}, {"Blackwell", 76},
};
constexpr uint32_t kShareOfOthers = 75;
constexpr uint32_t kLittlePowerMw = 100'000;
constexpr uint32_t kShareOfLittlePower = 50;

uint32_t ShareOf(const NvidiaIdentity& identity) {
  const uint32_t power_mw = identity.default_power_mw.value_or(UINT32_MAX);
  if (power_mw <= kLittlePowerMw) return kShareOfLittlePower;
  for (const Share& share : kShares) {
    if (share.architecture == identity.architecture) return share.percent;
  }
  return kShareOfOthers;
}

}  // namespace

std::optional<uint32_t> SustainableClock(const NvidiaIdentity& identity) {
  if (identity.sm_clocks_mhz.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(identity.sm_clocks_mhz.begin(), identity.sm_clocks_mhz.end());
  const uint32_t told_mhz = identity.max_sm_mhz.value_or(0);
  const uint64_t most_mhz = told_mhz == 0 || told_mhz > *most ? *most : told_mhz;
  const uint64_t limit_mhz = most_mhz * ShareOf(identity) / 100;
  uint32_t best_mhz = *least;
  for (const uint32_t mhz : identity.sm_clocks_mhz) {
    if (mhz <= limit_mhz) best_mhz = std::max(best_mhz, mhz);
  }
  return best_mhz;
}

Status CheckOffered(uint32_t mhz, const std::vector<uint32_t>& offered, const std::string& act) {
  if (offered.empty() || std::find(offered.begin(), offered.end(), mhz) != offered.end()) return OkStatus();
  uint32_t below = 0;
  uint32_t above = UINT32_MAX;
  for (const uint32_t one : offered) {
    if (one < mhz) below = std::max(below, one);
    if (one > mhz) above = std::min(above, one);
  }
  std::string nearest;
  if (below != 0) nearest = std::to_string(below);
  if (above != UINT32_MAX) nearest += (nearest.empty() ? "" : " or ") + std::to_string(above);
  return Fail(ErrorCode::kUsage, act, "the device does not offer " + std::to_string(mhz) + " MHz",
              "the nearest are " + nearest + " MHz; kprofctl devices --json lists all");
}

}  // namespace kprof
