// The protocol between the daemon and the supervisor `kprof-launch`, over one Unix stream socket:
//
//   daemon                                     kprof-launch
//   1 byte with descriptors (SCM_RIGHTS)    ->             the descriptors receive the command's output, see below
//   Hello, Prepare(LaunchRequest)           ->             runs the step before the lease, if there is one:
//                                           <-  Hello, StepBegins, StepsDone
//   Lease(variables)                        ->             makes the plan, forks, sets everything up, stops before exec
//                                           <-  Hello, Prepared
//   Go                                      ->             exec
//                                           <-  Started | LaunchFailed
//                                           <-  CommandOver   the command itself has ended; later steps may follow
//
// A tool that measures in turns (tool.h) has a process for each turn, and takes this in the place of Go:
//
//   Turn(TurnAsked), again and again        ->             runs one process to its end
//                                           <-  Started, of the first one alone; TurnOver(TurnEnded)
//   Enough                                  ->             no more turns
//                                           <-  CommandOver
//
// Then, for every tool:
//
//   Stop(grace_ms), any time                ->             TERM to the tree, KILL after the grace
//                                           <-  Output, each with a descriptor; LeftOut
//                                           <-  Ended      the whole tree is gone; then it exits
//
// When the socket closes without Go, or at any time later, the supervisor kills the tree at once and exits.
//
// Where daemon and supervisor run as one user, the output goes into files: stdout log, stderr log, output progress.
// Else only the daemon can open the files, and the supervisor gets two stream sockets for the command's stdout and
// stderr, made as the channel was. All output is sent before Ended; later output is dropped.
//
// A frame is u32 length (of what follows), u8 type, payload; integers little-endian; strings u32 length + bytes.
// Decoders take untrusted bytes: they fail with kBadInput, never read past the end, and never allocate more than the
// frame holds (and a string object per string in it). The socket is the only link: nothing else is shared.
//
// LaunchFailed may come instead of Prepared, too: a failure that shows before Go is reported before Go. Ended comes
// without Started when the command was stopped, or its process killed, before exec, and when the step before the lease
// failed. It then has no wall time. Without a step before the lease, the daemon sends Lease together with Prepare.
//
// An Output is a regular file that the command or its tool left, open only for reading. Its descriptor comes with the
// first byte of its frame.
//
// Hello is each side's first frame: a magic and kLaunchProtocolVersion. Its form never changes, so programs of
// different builds recognise each other and refuse: a replaced kprof-launch must not answer in fields that mean
// something else. A supervisor that refuses sends LaunchFailed without Hello. The failure's step is then a sentence
// (kOtherBuildsStep), which even a daemon from before Hello shows to its user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/launch/launch_request.h"
#include "storage/base/status.h"

namespace kprof {

constexpr size_t kLaunchFrameLimitBytes = 8 << 20;

// Number of descriptors with the first byte. One more may come last; the supervisor only holds it (client_launcher.h).
constexpr size_t kOutputFiles = 3;
constexpr size_t kOutputSockets = 2;

// Descriptors that a supervisor is started with: its channel (but see launch_options.h) and, with --pass-output, the
// sockets for output that goes straight to the client that follows the run. Over these go the bytes that the command
// prints, and back at most one: kReaderGone. The client may close them at any time: then nothing is passed on any more.
constexpr int kChannelFd = 3;
constexpr int kClientStdoutFd = 4;
constexpr int kClientStderrFd = 5;
constexpr int kFirstFreeFd = 6;

// Says that nobody reads what the client writes the stream to. The supervisor closes the pipe that the command prints
// into, so that the command gets SIGPIPE, as it would without us.
constexpr char kReaderGone = 'G';

// Raised with every change of a message's bytes or meaning; launch_protocol_test.cc notices a change of bytes.
constexpr uint32_t kLaunchProtocolVersion = 7;

constexpr const char* kOtherBuildsWhy = "kprofd and kprof-launch are of different builds";
constexpr const char* kOtherBuildsRemedy = "restart kprofd";
constexpr const char* kOtherBuildsStep = "kprofd and kprof-launch are of different builds; restart kprofd";

// Most bytes that are kept of the text that a command writes to $KPROF_METRICS.
constexpr size_t kMostMetricTextBytes = 1 << 20;
// Most bytes that are kept of the text that one turn writes to $KPROF_EVENT.
constexpr size_t kMostEventTextBytes = 4 << 20;

// Bounds of Output and LeftOut. A message over them comes from no supervisor of ours.
constexpr size_t kMostOutputPathBytes = 4096;
constexpr size_t kMostLeftOutReasons = 16;
constexpr size_t kMostLeftOutReasonBytes = 1024;

// Bounds of what a tool says in Ended.
constexpr size_t kMostToolNotes = 16;
constexpr size_t kMostToolNoteBytes = 1024;

// A longer grace counts as this one.
constexpr int64_t kLongestGraceMs = 7 * 24 * 3600 * 1000LL;

// The supervisor's exit status, for a daemon that wants to know without listening.
constexpr int kLaunchTreeGone = 0;
constexpr int kLaunchTreeLeft = 3;  // some processes could not be ended

enum class LaunchMessage : uint8_t {
  kPrepare = 1,
  kGo = 2,
  kStop = 3,
  kLease = 4,
  kTurn = 5,
  kEnough = 6,
  kHello = 8,
  kPrepared = 16,
  kStarted = 17,
  kLaunchFailed = 18,
  kEnded = 19,
  kStepsDone = 20,
  kOutput = 21,
  kLeftOut = 22,
  kCommandOver = 23,
  kStepBegins = 24,
  kTurnOver = 25,
};

// kUsage for a request that the supervisor does not even try: an empty argv[0], a folder that is no absolute path, a
// NUL inside a string, a negative limit, an output limit that the log cannot record (output_log.h), or more bytes than
// a frame holds.
Status CheckLaunchRequest(const LaunchRequest& request);

// The step at which a launch stopped: "chdir", "exec", "interpreter" (the program is there, but not the interpreter
// that its first line names), "setrlimit", "fork"...
struct LaunchFailure {
  std::string step;
  int32_t error = 0;  // errno
  bool operator==(const LaunchFailure&) const = default;
};

// Prefixes of LaunchFailure::step. The reason why no plan could be made follows.
inline constexpr char kToolMissingStep[] = "tool missing: ";
inline constexpr char kNotPermittedStep[] = "not permitted: ";
inline constexpr char kPlanStep[] = "plan: ";

struct CommandStarted {
  int32_t pid = 0;
  int64_t unix_ns = 0;  // just before exec
  int64_t mono_ns = 0;
  bool operator==(const CommandStarted&) const = default;
};

// One process of a tool that measures in turns.
struct TurnAsked {
  int32_t side = 0;     // which of the plan's sides
  int64_t samples = 0;  // that it is to report of each case, if it reports
  uint64_t seed = 0;    // of its inputs
  bool operator==(const TurnAsked&) const = default;
};

struct TurnEnded {
  int32_t side = 0;
  std::optional<int32_t> exit_code;  // or
  std::optional<int32_t> signal;
  int64_t began_unix_ns = 0;
  int64_t wall_ns = 0;      // of its first process, from exec on
  int64_t user_cpu_ns = 0;  // from here on: the whole tree
  int64_t system_cpu_ns = 0;
  int64_t max_rss_bytes = 0;
  int64_t leftover_processes = 0;  // outlived it and were ended
  std::string text;                // what was written to $KPROF_EVENT; at most kMostEventTextBytes
  int64_t dropped_bytes = 0;       // what came behind that
  bool operator==(const TurnEnded&) const = default;
};

struct CommandEnded {
  std::optional<int32_t> exit_code;  // or
  std::optional<int32_t> signal;     // or neither: it is out of reach and may still run (unkillable_processes)
  bool stopped = false;              // Stop had been asked for when the command ended
  bool killed = false;               // it took our KILL
  int64_t ended_unix_ns = 0;         // of the command itself, not of what it left behind
  int64_t wall_ns = 0;               // of the command itself
  int64_t user_cpu_ns = 0;           // from here on: the whole tree
  int64_t system_cpu_ns = 0;
  int64_t max_rss_bytes = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  int64_t leftover_processes = 0;    // outlived the command and were ended
  int64_t unkillable_processes = 0;  // out of our reach: changed identity (setuid), or hang in the kernel
  int64_t host_cpus = 0;             // that the command may use; 0: not known, or it was too short to tell
  int64_t host_wall_ns = 0;          // from Prepared to the end of the tree
  int64_t others_cpu_ns = 0;         // what others used of those CPUs in that time (host_cpu.h)
  int64_t stdout_bytes = 0;          // as printed
  int64_t stdout_dropped_bytes = 0;
  int64_t stderr_bytes = 0;
  int64_t stderr_dropped_bytes = 0;
  int32_t output_error = 0;           // errno of the first failed log write (ENOSPC), 0 for none; the command went on
  std::string metrics;                // what was written to $KPROF_METRICS, as it came; at most kMostMetricTextBytes
  int64_t metrics_dropped_bytes = 0;  // what came behind that
  // The step that failed ("prepare", "check", or the tool's name for it) and how it ended; empty: none failed.
  std::string failed_step;
  std::optional<int32_t> step_exit_code;
  std::optional<int32_t> step_signal;
  int64_t tries = 1;  // the tool's: how often the command ran; what is measured is the last one
  // The tool's own reason why the run fails; it counts before the exit code. An error code's name; empty: none.
  std::string tool_error;
  std::string tool_error_why;
  std::string tool_error_remedy;
  std::vector<std::string> tool_notes;  // for the run's trust: "code: message"
  bool operator==(const CommandEnded&) const = default;
};

inline constexpr char kPrepareStep[] = "prepare";
inline constexpr char kCheckStep[] = "check";

// A file that a command or its tool left.
struct OutputFound {
  std::string path;          // as it was found: from the command's folder, from the tool's, or absolute
  int32_t tool_output = -1;  // which of the tool's outputs it is; -1: one that was asked for
  bool operator==(const OutputFound&) const = default;
};

// Files that were found and are not handed over, and why.
struct OutputsLeftOut {
  std::vector<std::string> reasons;  // "'out/a.json': it is older than the run"
  int64_t more = 0;                  // that are not named
  bool operator==(const OutputsLeftOut&) const = default;
};

// Adds the marker (launcher.h) to the request's environment. Fails as CheckLaunchRequest does.
Result<LaunchRequest> MarkedRequest(LaunchRequest request, const std::string& marker);

std::string EncodeLaunchFailure(const LaunchFailure& failure);
Result<LaunchFailure> DecodeLaunchFailure(std::string_view payload);
std::string EncodeCommandStarted(const CommandStarted& started);
Result<CommandStarted> DecodeCommandStarted(std::string_view payload);
std::string EncodeCommandEnded(const CommandEnded& ended);
Result<CommandEnded> DecodeCommandEnded(std::string_view payload);
std::string EncodeLease(const std::vector<std::string>& variables);
Result<std::vector<std::string>> DecodeLease(std::string_view payload);
std::string EncodeOutputFound(const OutputFound& output);
Result<OutputFound> DecodeOutputFound(std::string_view payload);
std::string EncodeOutputsLeftOut(const OutputsLeftOut& left_out);
Result<OutputsLeftOut> DecodeOutputsLeftOut(std::string_view payload);
std::string EncodeTurnAsked(const TurnAsked& turn);
Result<TurnAsked> DecodeTurnAsked(std::string_view payload);
std::string EncodeTurnEnded(const TurnEnded& turn);
Result<TurnEnded> DecodeTurnEnded(std::string_view payload);
std::string EncodeStop(int64_t grace_ms);
Result<int64_t> DecodeStop(std::string_view payload);

// A frame, ready to be sent.
std::string FrameOf(LaunchMessage type, std::string_view payload = {});

// The first frame of either side.
std::string HelloFrame(uint32_t version = kLaunchProtocolVersion);

// Hello and Prepare; also Lease when no step runs before it.
std::string FirstFrames(const LaunchRequest& request);

// Cuts a byte stream into frames. Checks the Hello at its begin and does not return it.
class FrameReader {
 public:
  struct Frame {
    LaunchMessage type;
    std::string payload;
  };
  // REQUIRES: Next is called until it says nothing, before more is added; so no more than a frame is ever held.
  void Add(std::string_view bytes) { buffer_ += bytes; }
  // The next whole frame, or nothing yet. Fails with kBadInput for a length of 0 or over kLaunchFrameLimitBytes, for an
  // unknown type, and when the first frame is not our Hello; the stream is then dead.
  Result<std::optional<Frame>> Next();

  // True once our Hello has come. While false, a failure of Next means that the other end is of another build.
  bool greeted() const { return greeted_; }

 private:
  Result<std::optional<Frame>> NextFrame();

  std::string buffer_;
  size_t taken_bytes_ = 0;  // of buffer_, by frames that were returned
  bool greeted_ = false;
};

}  // namespace kprof
