// How a kprof-launch was asked to live:
//
//   kprof-launch [--kept] [--control-fd=N] [--digest=HEX]
//
// Without any, its daemon started it and watches it. The rest is for those whom somebody else starts (kprofctl, the
// helper: docs/helper_protocol.md), and who therefore say what it may start: kprofd, at the other end of the channel,
// is not to.
#pragma once

#include <optional>
#include <string>

namespace kprof {

struct LaunchOptions {
  bool kept = false;   // under a guard (supervisor_guard.h); its command can neither read nor trace it
  int control_fd = 3;  // 0 or 3: where the channel is
  std::string digest;  // launch_request.h; empty, which is for its daemon's own alone: any request is good
  bool operator==(const LaunchOptions&) const = default;
};

// Nothing for words that are none of ours, and for --kept without --digest.
std::optional<LaunchOptions> ParseLaunchOptions(int argc, const char* const* argv);

}  // namespace kprof
