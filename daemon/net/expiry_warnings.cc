#include "daemon/net/expiry_warnings.h"

#include <algorithm>
#include <iterator>

namespace kprof {
namespace {

constexpr int64_t kDayS = 24 * 3600;
constexpr int64_t kLimitsS[] = {30 * kDayS, 7 * kDayS, kDayS, 0};

}  // namespace

std::vector<ExpiryWarning> ExpiryWarnings::TakeDue(const std::vector<Expiry>& all, int64_t now_unix_s) {
  std::vector<ExpiryWarning> due;
  std::map<std::pair<std::string, int64_t>, int> said;
  for (const Expiry& expiry : all) {
    const int64_t left_s = expiry.unix_s - now_unix_s;
    const auto passed = static_cast<int>(
        std::count_if(std::begin(kLimitsS), std::end(kLimitsS), [&](int64_t limit_s) { return left_s <= limit_s; }));
    const std::pair<std::string, int64_t> key{expiry.what, expiry.unix_s};
    const auto before = said_.find(key);
    if (passed > (before == said_.end() ? 0 : before->second)) {
      due.push_back({expiry, left_s > 0 ? left_s / kDayS : -1});
    }
    said[key] = passed;
  }
  said_ = std::move(said);
  return due;
}

}  // namespace kprof
