#include "storage/trace/format/flow_windows.h"

#include <algorithm>
#include <limits>

namespace kprof {
namespace {

constexpr int64_t kLongAgo = std::numeric_limits<int64_t>::min();
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

}  // namespace

std::vector<TimeWindow> FlowWindowsOf(std::span<const TimeWindow> groups) {
  if (groups.empty()) return {{kLongAgo, kNever}};
  std::vector<TimeWindow> windows(groups.size(), TimeWindow{kNever, kLongAgo});
  int64_t first_ns = kLongAgo;
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool is_last = i + 1 == groups.size();
    const int64_t next_ns = is_last ? kNever : groups[i + 1].first_ns;
    const int64_t last_ns = is_last ? kNever : std::max(groups[i].last_ns, next_ns - (next_ns > kLongAgo ? 1 : 0));
    windows[i] = {first_ns, last_ns};
    if (last_ns == kNever) break;
    first_ns = std::max(first_ns, last_ns + 1);
  }
  return windows;
}

}  // namespace kprof
