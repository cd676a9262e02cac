// A command to be measured as its caller would have run it, and its bytes: kprofctl asks for it, kprofd keeps and sends
// it, kprof-launch makes the plan of it (daemon/capture) and executes that. Here and not in a room of the daemon's,
// because the client sums it, too (launch_digest.h).
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

// Everything a command needs to run as its caller would have run it, and what its caller wants of its tool.
struct LaunchRequest {
  std::vector<std::string> argv;         // argv[0] is looked up in the request's own PATH
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string cwd;
  uint32_t umask = 022;
  std::vector<ResourceLimit> limits;
  std::string tool = "command";
  std::vector<std::string> options;  // of the tool, "name=value"
  std::vector<std::string> collect;  // globs of files to be kept: from cwd, or absolute
  std::string prepare;               // run by sh -c before the lease; empty: nothing
  std::string check;                 // run by sh -c after the command; empty: nothing
  // From here on kprofd's to choose.
  int64_t output_head_bytes = 4 << 20;
  int64_t output_tail_bytes = 4 << 20;
  int64_t leftover_grace_ms = 2000;  // for processes that outlive the command: TERM, this long, KILL
  int64_t most_outputs = 1000;       // files that it may leave to be kept
  std::string output_folder;         // where its tool's own files go; empty, or others start it: in its TMPDIR
  bool operator==(const LaunchRequest&) const = default;
};

// Any thread. The decoder takes untrusted bytes (message_coder.h) and fails with kBadInput.
std::string EncodeLaunchRequest(const LaunchRequest& request);
// Its first part: what its caller decided.
std::string EncodeCallersPart(const LaunchRequest& request);
Result<LaunchRequest> DecodeLaunchRequest(std::string_view bytes);
// One of the first form, as files of the first version hold it: of the tool `command`, which had no options.
Result<LaunchRequest> DecodeFirstLaunchRequest(std::string_view bytes);

}  // namespace kprof
