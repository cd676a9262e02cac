// How a kprof-launch was asked to live:
//
//   kprof-launch [--kept] [--control-fd=N] [--digest=HEX]
//
// Without any, its daemon started it and watches it. The rest is for those whom somebody else starts
// (docs/helper_protocol.md).
#pragma once

#include <optional>
#include <string>

namespace kprof {

struct LaunchOptions {
  bool kept = false;   // under a keeper (keeper.h); its command can neither read nor trace it
  int control_fd = 3;  // 0 or 3: where the channel is
  std::string digest;  // launch_digest.h; empty: any request is good
  bool operator==(const LaunchOptions&) const = default;
};

// Nothing for words that are none of ours.
std::optional<LaunchOptions> ParseLaunchOptions(int argc, const char* const* argv);

}  // namespace kprof
