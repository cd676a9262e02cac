// The options of a kprof-launch:
//
//   kprof-launch [--kept] [--control-fd=N] [--digest=HEX] [--pass-output]
//
// Without the first three, its daemon started it and watches it. Those are for one that somebody else starts (kprofctl,
// the helper: docs/helper_protocol.md). Its starter says what may be started, not kprofd at the other end of the
// channel.
#pragma once

#include <optional>
#include <string>

namespace kprof {

struct LaunchOptions {
  bool kept = false;           // under a guard (supervisor_guard.h); its command can neither read nor trace it
  int control_fd = 3;          // 0 or 3: where the channel is
  std::string digest;          // launch_request.h; empty: any request is good, for its daemon's own alone
  bool passes_output = false;  // it has sockets to its client (launch_protocol.h)
  bool operator==(const LaunchOptions&) const = default;
};

// Absent for words that are no option, and for --kept without --digest.
std::optional<LaunchOptions> ParseLaunchOptions(int argc, const char* const* argv);

}  // namespace kprof
