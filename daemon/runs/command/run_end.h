// Puts the end of a run into its row: what it left, and how it ended: `done` without an error, `cancelled` for
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

// The reason `host_busy`: others used so much of the host's processors while the command ran that its times may not be
// believed. On average over the run, this is more than a quarter of a CPU and more than 5 % of those that the command
// may use: on a small host any neighbour matters, on a large one there is always somebody. The kernel counts in ticks,
// so it must also be more than 50 ms and 10 ms for each CPU. Nothing for a run that was too short to tell.
std::optional<TrustReason> HostBusy(const CommandEnded& command);

// The end of a command as its supervisor reports it, brought within what is possible. A supervisor that runs as its
// caller may say anything. Its word becomes metrics and trust of that caller's run, on which others' lists, sums and
// graphs are built.
//
// `elapsed_ns`: since the launch, by our clock. Times lie within it, CPU times within it on all CPUs, memory within
// this machine's; counts are counts, an exit code is one. The amount of output is not changed: the daemon counts that
// itself (output_intake.h). Any thread.
CommandEnded ClampReportedEnd(CommandEnded said, int64_t elapsed_ns);

// A run that is over, and not stored yet.
struct EndedRun {
  RunRow row;
  // Processes of it may live on, on its devices. This becomes trust of other users' runs (device_leftovers.h), so the
  // word of a supervisor that a client started does not count here: it is in its own run's trust alone.
  bool may_live_on = false;
  // `went`: its command was let go, and may have been on its devices. `started`: it is known to have been there.
  bool went = true;
  bool started = true;
  std::vector<MetricRow> kernel_metrics{};  // the catalog keeps them beside the row
};

// Adds what the run's folder held, and to its trust which output is not kept.
void SetCollected(RunRow& row, Collected collected);

// Adds how the command ended, its times as metrics, and to its trust which of them may not be believed.
void SetCommandEnded(RunRow& row, const CommandEnded& command);

// A reason for its trust: nobody knows whether its processes are gone, because of `why`.
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
// The same for an ended session.
Status StatusOfEnd(const SessionRow& row);

}  // namespace kprof
