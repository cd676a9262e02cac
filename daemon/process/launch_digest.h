// What of a launch its caller decided, as one sum: whoever keeps the sum can refuse to start anything else. Covers
// argv, folder, umask, limits and the environment. Leaves out what is the daemon's to choose: the limits of kept
// output, and the variables that it sets itself when devices are known.
#pragma once

#include <string>
#include <string_view>

#include "daemon/process/launch_protocol.h"

namespace kprof {

constexpr size_t kLaunchDigestLength = 64;  // hex digits of a SHA-256

// Whether the daemon sets this variable itself: KPROF_RUN_ID, KPROF_STATE, and what makes devices visible.
bool IsDaemonsVariable(std::string_view name);

// Any thread.
std::string LaunchDigest(const LaunchRequest& request);

// 64 lower-case hex digits.
bool LooksLikeLaunchDigest(std::string_view text);

}  // namespace kprof
