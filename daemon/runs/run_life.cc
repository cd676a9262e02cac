#include "daemon/runs/run_life.h"

#include "daemon/base/log.h"
#include "daemon/capture/tools.h"
#include "daemon/runs/host_busy.h"
#include "daemon/runs/launch_spool.h"
#include "daemon/runs/run_end.h"
#include "daemon/runs/state_marker.h"
#include "storage/base/signal_name.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

constexpr int64_t kTimeoutGraceMs = 5000;

std::string SecondsText(int64_t ms) {
  std::string text = std::to_string(ms / 1000);
  if (ms % 1000 != 0) text += "." + std::to_string(1000 + ms % 1000).substr(1);
  return text + " s";
}

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
    row.trust.push_back({"processes_unkillable", std::to_string(command.unkillable_processes) +
                                                     " processes changed their identity and could not be ended"});
  }
  if (std::optional<TrustReason> busy = HostBusy(command)) row.trust.push_back(*std::move(busy));
}

}  // namespace

RunLife::RunLife(const RunParts& parts, RunRow row, Events events)
    : parts_(parts), events_(std::move(events)), row_(std::move(row)) {}

RunLife::~RunLife() = default;

void RunLife::Commit(std::function<void(Status)> then) {
  parts_.catalog.writer().Submit([row = row_](Db& db) { return UpdateRun(db, row); },
                                 // The writer may answer when we are gone; what it posts then never runs.
                                 [this, &loop = parts_.loop, row = row_, then = std::move(then)](Status status) {
                                   loop.Post([this, row, then, status] {
                                     if (status.ok()) events_.changed(row);
                                     then(status);
                                   });
                                 });
}

void RunLife::Begin() {
  KPROF_ON_IO_LOOP(parts_.loop);
  row_.state = RunState::kPreparing;
  Commit([this](Status status) {
    if (!status.ok()) Blame(status);
    if (error_ || stop_reason_) return End();
    PrepareFiles();
  });
}

void RunLife::PrepareFiles() {
  auto work = [this, id = row_.id, leased = row_.devices, tool_name = row_.tool]() -> Result<Prepared> {
    Prepared prepared;
    ASSIGN_OR_RETURN(prepared.request, ReadSpool(parts_.files, parts_.catalog.layout(), id));
    const Tool* tool = FindTool(tool_name);
    KPROF_CHECK(tool != nullptr);
    LaunchRequest& request = prepared.request;
    ASSIGN_OR_RETURN(ToolPlan plan, tool->Plan({request.argv, request.environment, request.cwd}));
    request.argv = std::move(plan.argv);
    request.environment = std::move(plan.environment);
    for (const std::string& variable : parts_.devices.VisibilityVariables(leased, request.environment)) {
      SetVariable(request.environment, variable);
    }
    SetVariable(request.environment, StateMarker(parts_.catalog.layout()));
    request.output_head_bytes = parts_.output.head_bytes;
    request.output_tail_bytes = parts_.output.tail_bytes;
    ASSIGN_OR_RETURN(prepared.files, CreateRunFolder(parts_.files, parts_.catalog.layout(), id));
    return prepared;
  };
  OnWorker(std::move(work), [this](Result<Prepared> prepared) {
    if (!prepared.ok()) Blame(prepared.status());
    if (error_ || stop_reason_) return BeginCollecting();
    Launch(*std::move(prepared));
  });
}

void RunLife::OnWorker(std::function<Result<Prepared>()> work, std::function<void(Result<Prepared>)> then) {
  auto job = [this, work = std::move(work), then] {
    auto result = std::make_shared<Result<Prepared>>(work());  // shared: std::function copies its captures
    parts_.loop.Post([result, then] { then(std::move(*result)); });
  };
  Status submitted = parts_.workers.Submit(std::move(job));
  if (!submitted.ok()) parts_.loop.Post([then, submitted] { then(submitted); });
}

void RunLife::Launch(Prepared prepared) {
  files_ = std::move(prepared.files);
  LaunchEvents events;
  events.prepared = [this] {
    prepared_ = true;
    GoWhenReady();
  };
  events.started = [this](CommandStarted started) { OnStarted(started); };
  events.failed = [this](Status status) {
    Blame(status);
    BeginCollecting();
  };
  events.ended = [this](CommandEnded ended) { OnEnded(ended); };
  events.lost = [this](Status status) {
    Blame(Fail(ErrorCode::kLostDaemon, "run " + row_.id, status.why(), status.remedy()));
    BeginCollecting();
  };
  OutputFiles outputs{files_.stdout_log->fd(), files_.stderr_log->fd(), files_.progress->fd()};
  Result<std::unique_ptr<Launched>> launched =
      parts_.launcher.Launch(prepared.request, row_.id, outputs, std::move(events));
  if (!launched.ok()) {
    Blame(launched.status());
    return BeginCollecting();
  }
  launched_ = *std::move(launched);
  // The supervisor sets up while the state is being committed; it goes on only when both are ready.
  row_.state = RunState::kRunning;
  row_.started_ns = parts_.clock.unix_ns();
  Commit([this](Status status) {
    if (ended_) return;  // the launch failed meanwhile
    if (!status.ok()) Blame(status);
    running_committed_ = true;
    if (error_ || stop_reason_) return BeginCollecting();  // nothing was executed yet
    GoWhenReady();
  });
}

void RunLife::GoWhenReady() {
  if (!prepared_ || !running_committed_ || ended_) return;
  went_ = true;
  launched_->Go();
}

void RunLife::OnStarted(const CommandStarted& started) {
  row_.started_ns = started.unix_ns;
  LogInfo("command started", {{"run", row_.id}, {"pid", std::to_string(started.pid)}});
  // Nobody waits for this, so it must not know us. One that cannot be removed now is swept at the next start.
  (void)parts_.workers.Submit(
      [parts = parts_, id = row_.id] { (void)RemoveSpool(parts.files, parts.catalog.layout(), id); });
  if (row_.timeout_ms <= 0) return;
  timeout_ = parts_.loop.After(row_.timeout_ms * kNanosPerMilli, [this] {
    Stop(Fail(ErrorCode::kTimedOut, "run " + row_.id,
              "it ran longer than its timeout of " + SecondsText(row_.timeout_ms), "give it more with --timeout"),
         kTimeoutGraceMs);
  });
}

bool RunLife::Stop(const Status& reason, int64_t grace_ms) {
  KPROF_ON_IO_LOOP(parts_.loop);
  if (ended_) return false;
  if (!stop_reason_) stop_reason_ = reason;
  if (went_) {
    launched_->Stop(grace_ms);
  } else if (running_committed_) {
    BeginCollecting();  // it waits for its supervisor; nothing was executed yet
  }
  // Else a commit or a worker is on its way back and will see stop_reason_.
  return true;
}

void RunLife::OnEnded(const CommandEnded& ended) {
  command_ = ended;
  BeginCollecting();
}

void RunLife::BeginCollecting() {
  if (ended_) return;
  ended_ = true;
  timeout_.Cancel();
  // Closes the channel, and with it whatever has not ended. Later: we may be inside one of its events.
  parts_.loop.Post([launched = std::shared_ptr<Launched>(std::move(launched_))] {});
  row_.state = RunState::kCollecting;
  row_.ended_ns = command_ ? command_->ended_unix_ns : parts_.clock.unix_ns();
  Commit([this](Status status) {
    if (!status.ok()) Blame(status);
    Collect();
  });
}

void RunLife::Collect() {
  files_ = RunFiles();
  auto job = [this, id = row_.id] {
    auto collected = std::make_shared<Result<Collected>>(CollectRunFolder(parts_.files, parts_.catalog.layout(), id));
    parts_.loop.Post([this, collected] { OnCollected(std::move(*collected)); });
  };
  Status submitted = parts_.workers.Submit(std::move(job));
  if (!submitted.ok()) OnCollected(submitted);
}

void RunLife::OnCollected(Result<Collected> collected) {
  if (collected.ok()) {
    SetCollected(row_, *std::move(collected));
  } else {
    Blame(collected.status());
  }
  End();
}

void RunLife::Blame(const Status& error) {
  LogWarning("run in trouble", {{"run", row_.id}, {"error", error.ToString()}});
  if (!error_) error_ = error;
}

std::optional<Status> RunLife::WhyItFailed() const {
  if (error_) return error_;
  if (!command_) return stop_reason_;
  if (command_->output_error != 0) return FailErrno(command_->output_error, "keep the output of run " + row_.id);
  if (stop_reason_ && command_->stopped) return stop_reason_;
  const std::string remedy = "see kprofctl logs " + row_.id + " --stderr";
  if (command_->signal) {
    return Fail(ErrorCode::kCommandFailed, "run " + row_.id,
                "the command was ended by " + SignalName(*command_->signal), remedy);
  }
  if (command_->exit_code.value_or(0) != 0) {
    return Fail(ErrorCode::kCommandFailed, "run " + row_.id,
                "the command ended with exit code " + std::to_string(*command_->exit_code), remedy);
  }
  return std::nullopt;
}

void RunLife::End() {
  ended_ = true;
  if (command_) {
    row_.exit_code = command_->exit_code;
    row_.signal = command_->signal;
    AddCommandMetrics(row_, *command_);
    AddTrust(row_, *command_);
  } else if (!went_) {
    row_.started_ns.reset();
  }
  SetEnd(row_, WhyItFailed(), parts_.clock.unix_ns());
  events_.ended(row_);
}

}  // namespace kprof
