// A run as the catalog keeps it. A value: the code that runs it fills it, run_table.h stores it, run_list.h finds it.
// Bytes that users gave (argv, cwd, environment) are bytes, not text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

// The program that starts a run's supervisor: settled when the run is submitted, and stored with it.
enum class RunStarter { kDaemon, kClient, kHelper };

// A part of a run's trace as the catalog keeps it: its file, its source, and how much is in it. A value: run_details.h
// stores it; storage/trace reads the file itself.
struct TracePartRow {
  std::string name;  // unique in its run; Layout::TracePartPath says where it lies
  std::optional<int64_t> rank;
  std::string source_name;    // bytes: the owner's name of the source file
  std::string source_format;  // the format that it was read as
  int64_t source_bytes = 0;
  std::string source_hash;            // source_hash.h: size, '-', hash; empty: no file was read whole
  std::string source_artifact;        // the artifact that is the source; empty: it is not kept
  std::string asked_format;           // as the import asked for it, as is the rank
  std::optional<int64_t> asked_rank;  // another wish is another import
  int64_t bytes = 0;                  // of the file
  int64_t slices = 0;
  int64_t instants = 0;
  int64_t counters = 0;
  int64_t flows = 0;
  int64_t tracks = 0;
  bool operator==(const TracePartRow&) const = default;
};

// The sums of a run's parts.
struct TraceTotals {
  int64_t slices = 0;
  int64_t instants = 0;
  int64_t counters = 0;
  int64_t flows = 0;
  int64_t tracks = 0;
  int64_t bytes = 0;
  int64_t source_bytes = 0;
  bool operator==(const TraceTotals&) const = default;
};
TraceTotals TotalsOf(const std::vector<TracePartRow>& parts);

enum class RunState { kQueued, kPreparing, kRunning, kCollecting, kDone, kFailed, kCancelled };

std::string_view RunStateName(RunState state);  // "queued"
std::optional<RunState> RunStateByName(std::string_view name);
constexpr bool IsTerminal(RunState state) {
  return state == RunState::kDone || state == RunState::kFailed || state == RunState::kCancelled;
}

// The reason why a run failed or was cancelled, or why a session ended without being closed.
struct RunError {
  std::string code;  // a name of storage/base/status.h
  std::string message;
  std::string remedy;
  bool operator==(const RunError&) const = default;
};

struct TrustReason {
  std::string code;
  std::string message;
  bool operator==(const TrustReason&) const = default;
};

struct ArtifactRow {
  std::string name;  // as users see it; also the file's name in the run's folder
  int64_t size_bytes = 0;
  std::string sha256;
  // Where the command left it, from its folder on: `tiling/a.json`. Empty: outside of that folder, or none of its
  // files.
  std::string path = {};
  bool operator==(const ArtifactRow&) const = default;
};

struct MetricRow {
  std::string name;
  double value = 0;  // NaN is kept, as null in SQL
  std::string unit;
  std::string kernel;  // empty: the run as a whole
  std::optional<int64_t> launch;
  bool operator==(const MetricRow&) const = default;
};

// The answer to a run that compared two commands.
struct RunVerdict {
  std::string name;              // FASTER: its command beats the one that it ran against; SLOWER, SAME or INCONCLUSIVE
  std::optional<double> ratio;   // of their times: below 1 its command is faster
  std::optional<double> ci_low;  // the interval of the ratio
  std::optional<double> ci_high;
  std::vector<std::string> reasons;  // codes; no commas in them
  bool operator==(const RunVerdict&) const = default;
};

struct RunRow {
  std::string id;
  uint32_t uid = 0;
  std::string tool;
  RunState state = RunState::kQueued;
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<std::pair<std::string, std::string>> environment;  // the allow-listed part
  std::map<std::string, std::string> labels;
  std::vector<std::string> devices;  // as leased: "cpu", "0", ...; empty: none
  bool pinned = false;
  bool shared = false;
  bool attached = false;         // ends with its client
  std::string idempotency_key;   // empty: none; unique per uid
  std::string session_id;        // empty: none
  std::optional<int64_t> round;  // within its session, from 1
  int64_t priority = 0;
  RunStarter starter = RunStarter::kDaemon;
  std::string clocks = "none";  // the policy; within a session the session's
  int64_t cool_down_ms = 0;     // how long it waits for warm devices; 0: it does not
  bool exclusive = false;       // nobody else's processes may be on its devices
  int64_t timeout_ms = 0;       // 0: none
  int64_t queue_timeout_ms = 0;
  int64_t queued_ns = 0;  // Unix ns
  std::optional<int64_t> started_ns;
  std::optional<int64_t> ended_ns;
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
  std::optional<RunError> error;
  int64_t stdout_bytes = 0;  // as printed, before any limit
  int64_t stdout_dropped_bytes = 0;
  int64_t stderr_bytes = 0;
  int64_t stderr_dropped_bytes = 0;
  std::vector<TrustReason> trust;
  std::vector<ArtifactRow> artifacts;  // read back by name
  std::vector<MetricRow> metrics;      // its totals; those of its kernels: PutKernelMetrics
  std::vector<TracePartRow> trace;     // its parts; none: it has no trace
  std::optional<RunVerdict> verdict;   // none: it compared nothing, or has not ended
  bool operator==(const RunRow&) const = default;
};

// The artifact of exactly that name, within `run`; null when there is none.
const ArtifactRow* FindArtifact(const RunRow& run, std::string_view name);

}  // namespace kprof
