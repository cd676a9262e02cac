#include "daemon/runs/command/run_end.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr double kLeastCpus = 0.25;
constexpr double kLeastShare = 0.05;
constexpr double kLeastNs = 50e6;
constexpr double kLeastNsPerCpu = 10e6;

}  // namespace

std::optional<TrustReason> HostBusy(const CommandEnded& command) {
  if (command.host_cpus <= 0 || command.host_wall_ns <= 0) return std::nullopt;
  const auto cpus = static_cast<double>(command.host_cpus);
  const auto others_ns = static_cast<double>(command.others_cpu_ns);
  const double others_cpus = others_ns / static_cast<double>(command.host_wall_ns);
  if (others_cpus <= std::max(kLeastCpus, kLeastShare * cpus) || others_ns <= kLeastNs + kLeastNsPerCpu * cpus) {
    return std::nullopt;
  }
  char text[160];
  std::snprintf(text, sizeof text,
                "others used %.2f of %.0f CPUs while it ran; times of the host may be longer than on "
                "a quiet one",
                std::min(others_cpus, cpus), cpus);
  return TrustReason{"host_busy", text};
}

namespace {

constexpr int32_t kMostExitCode = 255;
constexpr int64_t kMostProcesses = 4 << 20;           // the kernel has no more pids
constexpr int64_t kMostSwitches = int64_t{1} << 53;   // what a metric holds exactly
constexpr int64_t kMostTold = 1000;                   // tries
constexpr int64_t kMostElapsedNs = int64_t{1} << 52;  // 52 days: on all CPUs still a number

void Bound(int64_t& value, int64_t most) {
  value = std::clamp<int64_t>(value, 0, std::max<int64_t>(0, most));
}

}  // namespace

CommandEnded ClampReportedEnd(CommandEnded said, int64_t elapsed_ns) {
  const int64_t cpus = std::max<int64_t>(1, ::sysconf(_SC_NPROCESSORS_CONF));
  const int64_t memory_bytes = std::max<int64_t>(0, ::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  const int64_t cpu_ns = std::clamp<int64_t>(elapsed_ns, 0, kMostElapsedNs) * cpus;
  if (said.exit_code) said.exit_code = std::clamp(*said.exit_code, 0, kMostExitCode);
  if (said.signal) said.signal = std::clamp(*said.signal, 1, NSIG - 1);
  if (said.exit_code) said.signal.reset();
  Bound(said.wall_ns, elapsed_ns);
  Bound(said.user_cpu_ns, cpu_ns);
  Bound(said.system_cpu_ns, cpu_ns - said.user_cpu_ns);
  Bound(said.max_rss_bytes, memory_bytes);
  Bound(said.voluntary_switches, kMostSwitches);
  Bound(said.involuntary_switches, kMostSwitches);
  Bound(said.leftover_processes, kMostProcesses);
  Bound(said.unkillable_processes, kMostProcesses);
  Bound(said.host_cpus, cpus);
  Bound(said.host_wall_ns, elapsed_ns);
  Bound(said.others_cpu_ns, cpu_ns);
  Bound(said.metrics_dropped_bytes, kMostSwitches);
  if (said.metrics.size() > kMostMetricTextBytes) {
    said.metrics_dropped_bytes += static_cast<int64_t>(said.metrics.size() - kMostMetricTextBytes);
    said.metrics.resize(kMostMetricTextBytes);
  }
  if (said.step_exit_code) said.step_exit_code = std::clamp(*said.step_exit_code, 0, kMostExitCode);
  if (said.step_signal) said.step_signal = std::clamp(*said.step_signal, 1, NSIG - 1);
  said.tries = std::clamp<int64_t>(said.tries, 1, kMostTold);
  if (said.tool_notes.size() > kMostToolNotes) said.tool_notes.resize(kMostToolNotes);
  return said;
}

namespace {

constexpr size_t kMessageLimitBytes = 4096;

void AddCommandMetrics(RunRow& row, const CommandEnded& command) {
  auto add = [&](const char* name, int64_t value, const char* unit) {
    row.metrics.push_back(MetricRow{.name = name, .value = static_cast<double>(value), .unit = unit});
  };
  add("wall_ns", command.wall_ns, "ns");
  add("user_cpu_ns", command.user_cpu_ns, "ns");
  add("system_cpu_ns", command.system_cpu_ns, "ns");
  add("max_rss_bytes", command.max_rss_bytes, "bytes");
  add("voluntary_switches", command.voluntary_switches, "count");
  add("involuntary_switches", command.involuntary_switches, "count");
  if (command.tries > 1) add("tries", command.tries, "count");
}

// "code: message".
std::optional<TrustReason> ReasonOfNote(const std::string& note) {
  constexpr size_t kMostCodeBytes = 64;
  const size_t colon = note.find(": ");
  if (colon == 0 || colon > kMostCodeBytes) return std::nullopt;
  const std::string code = note.substr(0, colon);
  if (code.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos) return std::nullopt;
  return TrustReason{code, ClippedText(note.substr(colon + 2), kMostToolNoteBytes)};
}

void AddTrust(RunRow& row, const CommandEnded& command) {
  if (command.leftover_processes > 0) {
    row.trust.push_back({"processes_left", std::to_string(command.leftover_processes) +
                                               " processes outlived the command and were ended; what they did is "
                                               "in no wall time"});
  }
  if (command.unkillable_processes > 0) {
    row.trust.push_back({kProcessesUnkillable, std::to_string(command.unkillable_processes) +
                                                   " processes changed their identity and could not be ended"});
  }
  if (std::optional<TrustReason> busy = HostBusy(command)) row.trust.push_back(*std::move(busy));
  for (const std::string& note : command.tool_notes) {
    if (std::optional<TrustReason> reason = ReasonOfNote(note)) row.trust.push_back(*std::move(reason));
  }
}

// The stored message begins with the act; what follows is the cause.
Status StatusOf(const RunError& error, const std::string& what) {
  std::string why = error.message;
  if (why.starts_with(what + ": ")) why = why.substr(what.size() + 2);
  return Fail(ErrorCodeByName(error.code).value_or(ErrorCode::kInternal), what, why, error.remedy);
}

Status WhyStepFailed(const CommandEnded& command, const RunRow& row, const std::string& remedy) {
  const std::string how = command.step_signal      ? "was ended by " + SignalName(*command.step_signal)
                          : command.step_exit_code ? "ended with exit code " + std::to_string(*command.step_exit_code)
                                                   : "could not be started";
  const std::string what = "run " + row.id;
  if (command.failed_step == kPrepareStep) {
    return Fail(ErrorCode::kCommandFailed, what, "the command of --prepare " + how, remedy);
  }
  if (command.failed_step == kCheckStep) {
    return Fail(ErrorCode::kCheckFailed, what, "the command of --check " + how, remedy);
  }
  return Fail(ErrorCode::kToolFailed, what,
              "the step '" + ClippedText(command.failed_step, 200) + "' of its tool " + how, remedy);
}

}  // namespace

void SetCollected(RunRow& row, Collected collected) {
  row.artifacts = std::move(collected.artifacts);
  row.stdout_bytes = collected.stdout_log.printed_bytes;
  row.stdout_dropped_bytes = collected.stdout_log.dropped_bytes;
  row.stderr_bytes = collected.stderr_log.printed_bytes;
  row.stderr_dropped_bytes = collected.stderr_log.dropped_bytes;
  std::string dropped;
  auto add_dropped = [&](const char* stream, const FinishedOutput& log) {
    if (log.dropped_bytes <= 0) return;
    dropped += dropped.empty() ? "" : " and ";
    dropped += std::to_string(log.dropped_bytes) + " of " + std::to_string(log.printed_bytes) + " bytes of " + stream;
  };
  add_dropped("stdout", collected.stdout_log);
  add_dropped("stderr", collected.stderr_log);
  if (dropped.empty()) return;
  row.trust.push_back({"output_dropped", dropped + " are not kept, between head and tail; this concerns the logs "
                                                   "alone, nothing that was measured"});
}

void SetCommandEnded(RunRow& row, const CommandEnded& command) {
  row.exit_code = command.exit_code;
  row.signal = command.signal;
  AddCommandMetrics(row, command);
  AddTrust(row, command);
}

TrustReason MayLiveOn(const Status& why) {
  return {kProcessesUnkillable, "processes of it may live on: " + why.why()};
}

std::optional<Status> WhyCommandFailed(const CommandEnded& command, const RunRow& row) {
  if (command.output_error != 0) return FailErrno(command.output_error, "keep the output of run " + row.id);
  std::string remedy;
  if (row.stderr_bytes > 0) {
    remedy = "see kprofctl logs " + row.id + " --stderr";
  } else if (row.stdout_bytes > 0) {
    remedy = "see kprofctl logs " + row.id;
  }
  if (!command.tool_error.empty()) {
    const std::optional<ErrorCode> said = ErrorCodeByName(command.tool_error);
    const ErrorCode code = said == ErrorCode::kNoKernels ? *said : ErrorCode::kToolFailed;
    return Fail(code, "run " + row.id, ClippedText(command.tool_error_why, kMostToolNoteBytes),
                ClippedText(command.tool_error_remedy, kMostToolNoteBytes));
  }
  if (command.signal) {
    return Fail(ErrorCode::kCommandFailed, "run " + row.id, "the command was ended by " + SignalName(*command.signal),
                remedy);
  }
  if (command.exit_code.value_or(0) != 0) {
    return Fail(ErrorCode::kCommandFailed, "run " + row.id,
                "the command ended with exit code " + std::to_string(*command.exit_code), remedy);
  }
  if (!command.failed_step.empty()) return WhyStepFailed(command, row, remedy);
  return std::nullopt;
}

RunError StoredError(const Status& error) {
  return RunError{std::string(ErrorName(error.code())),
                  ClippedText(error.what() + ": " + error.why(), kMessageLimitBytes),
                  ClippedText(error.remedy(), kMessageLimitBytes)};
}

void SetEnd(RunRow& row, const std::optional<Status>& error, int64_t now_unix_ns) {
  if (!row.ended_ns) row.ended_ns = now_unix_ns;
  if (!error) {
    row.state = RunState::kDone;
    row.error.reset();
    return;
  }
  bool cancelled = error->code() == ErrorCode::kCancelled || error->code() == ErrorCode::kClientGone;
  row.state = cancelled ? RunState::kCancelled : RunState::kFailed;
  row.error = StoredError(*error);
}

Status StatusOfEnd(const RunRow& row) {
  return row.error ? StatusOf(*row.error, "run " + row.id) : OkStatus();
}

Status StatusOfEnd(const SessionRow& row) {
  return row.error ? StatusOf(*row.error, "session " + row.id) : OkStatus();
}

}  // namespace kprof
