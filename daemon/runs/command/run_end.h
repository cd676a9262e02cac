// What became of a run, put into its row: what it left, and how it ended: `done` without an error, `cancelled` for
// cancelled and client_gone, else `failed`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "daemon/runs/command/run_folder.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// Whether others used so much of the host's processors while a command ran that its times may not be believed.

// The reason `host_busy`, when others used, on average over the run, more than a quarter of a CPU and more than 5 % of
// those that the command may use: on a small host any neighbour matters, on a large one there is always somebody. The
// kernel counts in ticks, so it must also be more than 50 ms and 10 ms for each CPU. Nothing for a run that was too
// short to tell.
std::optional<TrustReason> HostBusy(const CommandEnded& command);

// What a supervisor says of a command's end, as far as it is possible. One that runs as its caller may say anything;
// what it says becomes metrics and trust of that caller's run, on which others' lists, sums and graphs are built.

// `elapsed_ns`: since the launch, by our clock. Times lie within it, CPU times within it on all CPUs, memory within
// this machine's; counts are counts, an exit code is one. What was printed is not among it: that the daemon counts
// itself (output_intake.h). Any thread.
CommandEnded ClampReportedEnd(CommandEnded said, int64_t elapsed_ns);

// A run that is over, which is not stored yet.
struct EndedRun {
  RunRow row;
  // Processes of it, on its devices. Whoever says so has a say in others' trust (device_leftovers.h): the word of a
  // supervisor that a client started is in its own run's trust and does not count here.
  bool may_live_on = false;
  // Its command was let go, and may have been on its devices; and it is known to have been there.
  bool went = true;
  bool started = true;
  std::vector<MetricRow> kernel_metrics{};  // which the catalog keeps beside the row
};

// What the run's folder held, and in its trust what of the output is not kept.
void SetCollected(RunRow& row, Collected collected);

// How the command ended, its times as metrics, and in its trust what of them may not be believed.
void SetCommandEnded(RunRow& row, const CommandEnded& command);

// In its trust: `why` nobody knows whether its processes are gone.
inline constexpr char kProcessesUnkillable[] = "processes_unkillable";
TrustReason MayLiveOn(const Status& why);

// Why a command that ended by itself makes its run fail; nothing when it does not. `row` knows what it printed.
std::optional<Status> WhyCommandFailed(const CommandEnded& command, const RunRow& row);

// An error as a row keeps it.
RunError StoredError(const Status& error);

// Sets state and error, and ended_ns where the command's own end did not.
void SetEnd(RunRow& row, const std::optional<Status>& error, int64_t now_unix_ns);

// The error of an ended run as a Status; ok for one that is done.
Status StatusOfEnd(const RunRow& row);
// The same of an ended session.
Status StatusOfEnd(const SessionRow& row);

}  // namespace kprof
