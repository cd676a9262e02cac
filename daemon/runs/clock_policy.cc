#include "daemon/runs/clock_policy.h"

#include <algorithm>
#include <string_view>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr std::string_view kLockAt = "lock=";
constexpr size_t kMostDigits = 5;

bool IsFrequency(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits && text[0] != '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool AsksForLock(std::string_view policy) {
  return policy == "base" || policy == "lock" || policy.starts_with(kLockAt);
}

}  // namespace

Status CheckClockPolicy(const std::string& policy, const std::string& act) {
  const std::string_view text = policy;
  if (text == "none" || text == "base" || text == "lock") return OkStatus();
  if (text.starts_with(kLockAt) && IsFrequency(text.substr(kLockAt.size()))) return OkStatus();
  if (text.ends_with('!') && AsksForLock(text.substr(0, text.size() - 1))) {
    return Fail(ErrorCode::kUsage, act, "clocks were to be locked or nothing, and this version locks no clocks",
                "leave the '!' out to go on unlocked");
  }
  return Fail(ErrorCode::kUsage, act, "'" + ClippedText(policy, 80) + "' is no clock policy",
              "use none, base, lock or lock=MHZ");
}

std::vector<TrustReason> TrustUnder(const std::string& policy) {
  if (!AsksForLock(policy)) return {};
  return {{"clocks_not_locked", "the session asks for clocks '" + policy + "', and this version locks none"}};
}

}  // namespace kprof
