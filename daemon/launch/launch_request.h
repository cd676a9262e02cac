// A command to be measured as its caller would have run it, as a value and as bytes. kprofctl asks for it, kprofd keeps
// and sends it, kprof-launch makes the plan of it (daemon/capture) and executes that plan. LaunchDigest sums the
// caller's part of it, for client, helper and supervisor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// Variables that every process of a run carries. By the first two the daemon and the helper find processes that a run
// left behind. This one names the run:
inline constexpr char kRunIdVariable[] = "KPROF_RUN_ID";
// This one names the state folder that the run belongs to (run_folder.h).
inline constexpr char kStateVariable[] = "KPROF_STATE";
// The path of a pipe to the supervisor. The command writes the run's metrics there, a JSON object a line
// (command_output.h).
inline constexpr char kMetricsVariable[] = "KPROF_METRICS";
// For a process of a tool that measures in turns: the path of a pipe for its samples, how many samples of each case it
// is to give, and the seed of its inputs.
inline constexpr char kEventVariable[] = "KPROF_EVENT";
inline constexpr char kEventSamplesVariable[] = "KPROF_EVENT_SAMPLES";
inline constexpr char kEventSeedVariable[] = "KPROF_EVENT_SEED";
// For kprof-launch alone, where the tool runs a vendor's program; the command does not get them. Folders where such
// programs are looked for before PATH, with a colon between them (vendor_program.h).
inline constexpr char kToolPathVariable[] = "KPROF_TOOL_PATH";
// A folder where all users' ncus can lock each other out (ncu_lock.h).
inline constexpr char kNcuFolderVariable[] = "KPROF_NCU_FOLDER";

struct ResourceLimit {
  int32_t resource = 0;  // RLIMIT_*
  uint64_t soft = 0;
  uint64_t hard = 0;
  bool operator==(const ResourceLimit&) const = default;
};

// All that a command needs to run as its caller would have run it, and the caller's wishes for its tool.
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
// The first part of these bytes: all that the caller decided.
std::string EncodeCallersPart(const LaunchRequest& request);
Result<LaunchRequest> DecodeLaunchRequest(std::string_view bytes);
// Decodes the first form, found in files of the first version: the tool is `command`, which had no options.
Result<LaunchRequest> DecodeFirstLaunchRequest(std::string_view bytes);

// The sum of all that a launch's caller decided. Whoever keeps the sum can refuse to start anything else: kprofctl sums
// its own request and gives the sum to the kprof-launch that it starts; the helper has it from the caller's
// registration. The sum covers the request, not the plan that kprof-launch makes of it: tool, options, argv, folder,
// umask, limits, the globs to collect, the commands of --prepare and --check, and the environment. PATH and the folder
// are among them, so the caller also decides which file argv names.
//
// The sum leaves out what kprofd may choose: how much output is kept, how long leftovers have, how many files are kept,
// the folder for the tool's files, and seven variables with plain values. None of these makes another program run: no
// loader, shell or runtime executes the value of such a variable, and a plain value has no quotes, wildcards or
// operators of a shell. What the folders for vendors' programs and for ncu's lock name counts for somebody else's
// supervisor only where root alone could have put it there (vendor_program.h).
constexpr size_t kLaunchDigestLength = 64;  // hex digits of a SHA-256

// True if kprofd may set "NAME=value": KPROF_RUN_ID, KPROF_STATE, the folders of vendors' programs and of ncu's lock,
// or a variable that makes devices visible, and a value of letters, digits and the few signs that ids, paths and lists
// of devices have. Any other value of these variables is the caller's.
bool IsDaemonsVariable(std::string_view variable);

// Any thread.
std::string LaunchDigest(const LaunchRequest& request);

// True for 64 lower-case hex digits.
bool LooksLikeLaunchDigest(std::string_view text);

}  // namespace kprof
