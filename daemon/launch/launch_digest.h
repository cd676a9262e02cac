// What of a launch its caller decided, as one sum: whoever keeps the sum can refuse to start anything else. kprofctl
// computes it of what it asks for and gives it to the kprof-launch that it starts; the helper has it from the caller's
// registration. Covers the request, not the plan that kprof-launch makes of it: tool, options, argv, folder, umask,
// limits, the globs to collect, the commands of --prepare and --check, and the environment: with PATH and the folder in
// it, which file argv names is the caller's as well.
//
// What it leaves out is kprofd's to choose, and is this alone: how much output is kept, how long leftovers have, how
// many files are kept, and the values of five variables, as long as they are plain words. None of it makes another
// program run: no loader, shell or runtime executes what such a variable names, and a plain word stays one word
// wherever it is put.
#pragma once

#include <string>
#include <string_view>

#include "daemon/launch/launch_request.h"

namespace kprof {

constexpr size_t kLaunchDigestLength = 64;  // hex digits of a SHA-256

// Whether "NAME=value" is one that kprofd may set: KPROF_RUN_ID, KPROF_STATE, or what makes devices visible, to
// letters, digits and the few signs that ids and lists of devices have. Anything else under these names is the
// caller's.
bool IsDaemonsVariable(std::string_view variable);

// Any thread.
std::string LaunchDigest(const LaunchRequest& request);

// 64 lower-case hex digits.
bool LooksLikeLaunchDigest(std::string_view text);

}  // namespace kprof
