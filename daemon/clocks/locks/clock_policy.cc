#include "daemon/clocks/locks/clock_policy.h"

#include <algorithm>
#include <charconv>

#include "storage/base/readable_text.h"

namespace kprof {
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
