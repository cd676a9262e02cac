// What requests for runs and for sessions have in common, and the limits it has to keep. Each fails with kUsage, names
// the field, its size and the limit; `act` begins the message. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "storage/base/status.h"

namespace kprof {

constexpr int64_t kTimeoutLimitMs = 30LL * 24 * 3600 * 1000;
constexpr int64_t kPriorityLimit = 100;

// At most 64; a key of 1 to 64 letters, digits and . _ - /, a value of at most 1024 bytes of UTF-8.
Status CheckLabels(const std::map<std::string, std::string>& labels, const std::string& act);

// 0 to kTimeoutLimitMs. `field`: "the timeout".
Status CheckTimeout(const std::string& field, int64_t timeout_ms, const std::string& act);

// 0 to kPriorityLimit. Who may ask for more than 0 is not decided here.
Status CheckPriority(int64_t priority, const std::string& act);

}  // namespace kprof
