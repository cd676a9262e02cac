#include "daemon/runs/command/run_end.h"

#include <utility>

#include "daemon/runs/command/host_busy.h"
#include "storage/base/readable_text.h"
#include "storage/base/signal_name.h"

namespace kprof {
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
