// A command to be measured as its caller would have run it, and its bytes: kprofctl asks for it, kprofd keeps and sends
// it, kprof-launch makes the plan of it (daemon/capture) and executes that. Here and not in a room of the daemon's,
// because the client sums it, too (launch_request.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// The variables that every process of a run carries. By the first two whoever looks after the run finds what is left of
// it.

// Names the run that a process belongs to.
inline constexpr char kRunIdVariable[] = "KPROF_RUN_ID";
// And the state folder that the run belongs to (run_folder.h).
inline constexpr char kStateVariable[] = "KPROF_STATE";
// Where to write metrics of the run, a JSON object a line: the path of a pipe of its supervisor's
// (command_output.h).
inline constexpr char kMetricsVariable[] = "KPROF_METRICS";

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
