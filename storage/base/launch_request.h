// A command to be started as its caller would have run it, and its bytes: what kprofctl asks for, what kprofd keeps and
// sends, what kprof-launch executes. Here and not in a room of the daemon's, because the client sums it, too
// (launch_digest.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct ResourceLimit {
  int32_t resource = 0;  // RLIMIT_*
  uint64_t soft = 0;
  uint64_t hard = 0;
  bool operator==(const ResourceLimit&) const = default;
};

// Everything a command needs to run as its caller would have run it.
struct LaunchRequest {
  std::vector<std::string> argv;         // argv[0] is looked up in the request's own PATH
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string cwd;
  uint32_t umask = 022;
  std::vector<ResourceLimit> limits;
  int64_t output_head_bytes = 4 << 20;
  int64_t output_tail_bytes = 4 << 20;
  int64_t leftover_grace_ms = 2000;  // for processes that outlive the command: TERM, this long, KILL
  bool operator==(const LaunchRequest&) const = default;
};

// Any thread. The decoder takes untrusted bytes (message_coder.h) and fails with kBadInput.
std::string EncodeLaunchRequest(const LaunchRequest& request);
Result<LaunchRequest> DecodeLaunchRequest(std::string_view bytes);

}  // namespace kprof
