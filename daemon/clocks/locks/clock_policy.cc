#include "daemon/clocks/locks/clock_policy.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "storage/base/readable_text.h"

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

namespace {

constexpr size_t kMostDigits = 5;

// "NAME=NUMBER"
bool ParseSetting(std::string_view text, std::string_view name, uint32_t& number) {
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != '=') return false;
  const std::string_view digits = text.substr(name.size() + 1);
  const bool is_number = !digits.empty() && digits.size() <= kMostDigits && digits[0] != '0' &&
                         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return is_number;
}

bool ParseMode(std::string_view word, ClockPolicy& policy) {
  if (word == "lock") {
    policy.mode = ClockPolicy::Mode::kLock;
  } else if (word == "base") {
    policy.mode = ClockPolicy::Mode::kBase;
  } else if (ParseSetting(word, "lock", policy.sm_mhz)) {
    policy.mode = ClockPolicy::Mode::kFixed;
  } else {
    return false;
  }
  return true;
}

bool ParseExtra(std::string_view word, ClockPolicy& policy) {
  uint32_t number = 0;
  if (!policy.memory_mhz && ParseSetting(word, "mem", number)) {
    policy.memory_mhz = number;
  } else if (!policy.power_w && ParseSetting(word, "power", number)) {
    policy.power_w = number;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<ClockPolicy> ParseClockPolicy(std::string_view text, const std::string& act) {
  ClockPolicy policy;
  if (text == "none") return policy;
  std::string_view rest = text;
  if (rest.ends_with('!')) {
    policy.required = true;
    rest.remove_suffix(1);
  }
  bool is_policy = true;
  for (bool first = true; is_policy; first = false) {
    const size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    is_policy = first ? ParseMode(word, policy) : ParseExtra(word, policy);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (is_policy) return policy;
  return Fail(
      ErrorCode::kUsage, act, "'" + ClippedText(std::string(text), 80) + "' is no clock policy",
      "use none, base, lock or lock=MHZ, the last three perhaps with ,mem=MHZ and ,power=WATTS behind them; with "
      "a ! at the end it fails where clocks cannot be locked");
}

}  // namespace kprof
