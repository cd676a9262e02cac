#include "daemon/runs/command/command_life.h"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/capture/event_options.h"
#include "daemon/capture/ncu_lock.h"
#include "daemon/capture/tools.h"
#include "daemon/devices/peaks/peaks_in_use.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/ceiling_book.h"
#include "daemon/runs/command/given_files.h"
#include "daemon/runs/command/launch_spool.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/command/run_folder.h"
#include "daemon/runs/seconds_text.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/device_records.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

// What goes wrong with the daemon or its node; the rest is between a run and who wants it.
bool IsForTheOperator(ErrorCode code) {
  return code == ErrorCode::kInternal || code == ErrorCode::kNoDaemon || code == ErrorCode::kStorageFull ||
         code == ErrorCode::kStorageBroken;
}

// One that an older build had not, and of which a row is left, has no outputs: its launch says why it fails.
const Tool& ToolOf(const RunRow& row) {
  static constexpr Tool kNone{};
  const Tool* tool = FindTool(row.tool);
  return tool != nullptr ? *tool : kNone;
}

// Of a run with a timeout of its own, on a node without a longest one: steps that hang do not keep its devices.
constexpr int64_t kLeastForStepsMs = 600'000;

// The place of event_samples.jsonl among the outputs of its tool.
constexpr int32_t kSamplesOutput = 0;

uint64_t RandomSeed() {
  uint64_t seed = 0;
  KPROF_CHECK(::getrandom(&seed, sizeof seed, 0) == sizeof seed);
  return seed;
}

// ncu's own where it has no TMPDIR.
constexpr char kUsualNcuFolder[] = "/tmp";

}  // namespace

CommandLife::CommandLife(const RunContext& context, RunRow row, uint32_t account, bool prepares, int64_t longest_ms,
                         LifeEvents events)
    : context_(context),
      events_(std::move(events)),
      row_(std::move(row)),
      prepares_(prepares),
      hold_(context, row_),
      tool_(ToolOf(row_)),
      longest_ms_(longest_ms),
      outputs_(context, row_, account, tool_, longest_ms,
               {.wait_to_import = events_.wait_to_import, .import_progress = events_.import_progress, .over = [this] {
                  OnOutputsOver();
                }}) {
  if (row_.timeout_ms > 0 || longest_ms == 0) return;
  row_.timeout_ms = longest_ms;
  timeout_is_nodes_ = true;
}

CommandLife::~CommandLife() = default;

void CommandLife::Commit(std::function<Status(Db&)> also, std::function<void(Status)> then) {
  auto job = [row = row_, also = std::move(also)](Db& db) -> Status {
    RETURN_IF_ERROR(UpdateRun(db, row));
    return also ? also(db) : OkStatus();
  };
  context_.catalog.writer().Submit(std::move(job),
                                   // The writer may answer when we are gone; what it posts then never runs.
                                   [this, &loop = context_.loop, row = row_, then = std::move(then)](Status status) {
                                     loop.Post([this, row, then, status] {
                                       if (status.ok()) events_.changed(row);
                                       then(status);
                                     });
                                   });
}

void CommandLife::Begin() {
  KPROF_ON_IO_LOOP(context_.loop);
  if (prepares_) return PrepareFiles();
  CommitPreparing([this] { PrepareFiles(); });
}

// Its devices are its own.
void CommandLife::CommitPreparing(std::function<void()> then) {
  leased_ = true;
  row_.state = RunState::kPreparing;
  std::optional<AuditEntry> granted;
  if (std::optional<Lease> lease = LeaseOf(row_)) granted = LeaseGranted(*lease, context_.clock.unix_ns());
  auto take_devices = [granted, id = row_.id, keys = DeviceKeys()](Db& db) -> Status {
    RETURN_IF_ERROR(PutDeviceKeys(db, id, keys));
    return granted ? AppendAudit(db, *granted) : OkStatus();
  };
  Commit(take_devices, [this, then = std::move(then)](Status status) {
    if (ended_) return;
    if (!status.ok()) Blame(status);
    if (!error_ && !stop_reason_) return then();
    preparing_devices_ = false;
    if (!status.ok()) {  // nobody will know that it had them
      leased_ = false;
      row_.state = RunState::kQueued;
    }
    prepares_ ? BeginCollecting() : End();
  });
}

std::vector<std::string> CommandLife::DeviceKeys() const {
  std::vector<std::string> keys;
  const std::shared_ptr<const DeviceList> list = context_.devices.now();
  for (const std::string& id : row_.devices) {
    std::string& key = keys.emplace_back();
    for (const Device& device : list->all()) {
      if (device.id != id) continue;
      const Result<DeviceFacts> facts =
          context_.node_devices == nullptr ? DeviceFacts() : context_.node_devices->FactsOf(id);
      key = CeilingBook::KeyOf(device, facts.ok() ? *facts : DeviceFacts());
    }
  }
  return keys;
}

void CommandLife::OnGranted(const std::vector<TrustReason>& trust) {
  KPROF_ON_IO_LOOP(context_.loop);
  if (ended_) return;  // its end is on the way, and gives them back
  row_.trust.insert(row_.trust.begin(), trust.begin(), trust.end());
  preparing_devices_ = true;
  CommitPreparing([this] { PrepareDevices([this] { GiveDevices(); }); });
}

void CommandLife::GiveDevices() {
  preparing_devices_ = false;
  launched_->Lease(DeviceVariables(environment_));
  environment_ = {};
  if (row_.starter != RunStarter::kHelper) CommitRunning();
}

std::vector<std::string> CommandLife::DeviceVariables(const std::vector<std::string>& environment) const {
  return context_.devices.now()->VisibilityVariables(row_.devices, environment);
}

template <typename T>
void CommandLife::OnWorker(WorkerPool& pool, std::function<Result<T>()> work, void (CommandLife::*then)(Result<T>)) {
  // What is posted when we are gone never runs.
  auto job = [this, &loop = context_.loop, work = std::move(work), then] {
    auto result = std::make_shared<Result<T>>(work());  // shared: std::function copies its captures
    loop.Post([this, result, then] { (this->*then)(std::move(*result)); });
  };
  Status submitted = pool.Submit(std::move(job));
  if (!submitted.ok()) context_.loop.Post([this, then, submitted] { (this->*then)(submitted); });
}

void CommandLife::PrepareFiles() {
  auto work = [this, id = row_.id, leased = row_.devices, starter = row_.starter]() -> Result<Prepared> {
    Prepared prepared;
    ASSIGN_OR_RETURN(prepared.request, ReadSpool(context_.files, context_.catalog.layout(), id));
    LaunchRequest& request = prepared.request;
    if (request.prepare.empty()) {
      for (const std::string& variable : context_.devices.now()->VisibilityVariables(leased, request.environment)) {
        SetVariable(request.environment, variable);
      }
    } else {  // what a step left that a daemon before this one had begun
      for (const std::string& folder : {context_.catalog.layout().RunFolder(id), OutputFolderOf(id)}) {
        const Status removed = context_.files.RemoveTree(folder);
        if (!removed.ok() && removed.code() != ErrorCode::kNotFound) return removed;
      }
    }
    SetVariable(request.environment, StateMarker(context_.catalog.layout()));
    if (!tool_.needs.program.empty()) SetToolVariables(request.environment);
    request.output_head_bytes = context_.output.head_bytes;
    request.output_tail_bytes = context_.output.tail_bytes;
    request.most_outputs = context_.outputs.files;
    if (starter == RunStarter::kDaemon) request.output_folder = OutputFolderOf(id);
    ASSIGN_OR_RETURN(prepared.files, CreateRunFolder(context_.files, context_.catalog.layout(), id));
    RETURN_IF_ERROR(
        WriteGivenFiles(context_.files, context_.catalog.layout(), id, tool_, request.options, row_.labels));
    if (starter == RunStarter::kClient) {
      const std::string progress = context_.catalog.layout().ArtifactPath(id, kProgressName);
      ASSIGN_OR_RETURN(prepared.files.held, context_.files.OpenForRead(progress));
    }
    return prepared;
  };
  OnWorker<Prepared>(context_.workers, std::move(work), &CommandLife::OnFilesPrepared);
}

// For kprof-launch, which finds the tool's program.
void CommandLife::SetToolVariables(std::vector<std::string>& environment) const {
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) SetVariable(environment, std::string(name) + "=" + value);
  };
  set(kToolPathVariable, context_.tool_path);
  if (tool_.needs.ncu_lock) set(kNcuFolderVariable, context_.ncu_folder);
}

void CommandLife::OnFilesPrepared(Result<Prepared> prepared) {
  if (!prepared.ok()) Blame(prepared.status());
  if (error_ || stop_reason_) return BeginCollecting();
  if (prepares_ || tool_.needs.ncu_lock) environment_ = prepared->request.environment;
  if (prepares_) return Launch(*std::move(prepared));
  // Shared: std::function copies its captures.
  PrepareDevices([this, prepared = std::make_shared<Prepared>(*std::move(prepared))] { Launch(std::move(*prepared)); });
}

void CommandLife::PrepareDevices(std::function<void()> then) {
  DeviceHold::Needs needs;
  needs.profilers_paused = tool_.needs.dcgm_paused;
  if (tool_.needs.ncu_lock) {
    const std::string& own = context_.ncu_folder;
    needs.ncu_locks = NcuPlaceFor(environment_, own.empty() ? kUsualNcuFolder : own).locks;
  }
  hold_.Prepare(std::move(needs), [this, then = std::move(then)](const DeviceHold::Ready& ready) {
    if (ended_) return;
    preparing_devices_ = false;
    row_.trust.insert(row_.trust.end(), ready.trust.begin(), ready.trust.end());
    if (!ready.refused.ok()) {
      const Status& why = ready.refused;
      Blame(Fail(why.code(), "run " + row_.id, why.why(), why.remedy()));
    }
    if (error_ || stop_reason_) return BeginCollecting();
    then();
  });
}

void CommandLife::Launch(Prepared prepared) {
  files_ = std::move(prepared.files);
  if (tool_.takes_turns) {
    const Result<ToolOptions> options = ReadToolOptions(tool_, prepared.request.options);
    if (!options.ok()) {
      Blame(options.status());
      return BeginCollecting();
    }
    EventRules rules = EventRulesOf(*options, RandomSeed());
    rules.floor = FloorOfDevices();
    turns_ = std::make_shared<EventTurns>(rules);
  }
  LaunchEvents events;
  events.shares_cgroup = [this] {
    row_.trust.push_back(
        {"launched_in_daemon_cgroup",
         "the command ran in the cgroup of kprofd's helper, within its limits and beside its processes: "
         "no systemd runs here that could give it a unit of its own"});
  };
  events.held_up = [this](const Status& why) { OnHeldUp(why); };
  events.step_begins = [this] { OnStepBegins(); };
  events.command_over = [this] { OnCommandOver(); };
  events.steps_done = [this] {
    timeout_.Cancel();
    step_runs_ = false;
    if (stop_reason_) return BeginCollecting();  // it ended well before it heard of that
    events_.wants_devices();
  };
  events.prepared = [this] {
    prepared_ = true;
    timeout_.Cancel();
    row_.starter == RunStarter::kHelper && !ended_ ? CommitRunning() : GoWhenReady();
  };
  events.turn_over = [this](const TurnEnded& turn) { OnTurnOver(turn); };
  events.output = [this](const std::shared_ptr<ReceivedOutput>& file) {
    if (turns_ && file->found.tool_output == kSamplesOutput) {  // that one is ours to write
      row_.trust.push_back({"result_tampered", "the command left a file '" + std::string(kEventSamplesFile) +
                                                   "', the name of kprofd's own record: it is not kept"});
      return;
    }
    outputs_.Take(file);
  };
  events.left_out = [this](const OutputsLeftOut& left_out) { outputs_.NoteLeftOut(left_out); };
  events.started = [this](CommandStarted started) { OnStarted(started); };
  events.may_live_on = [this](const Status& why) {
    row_.trust.push_back(MayLiveOn(why));
    may_live_on_ = true;
  };
  events.failed = [this](Status status) {
    Blame(status);
    BeginCollecting();
  };
  events.ended = [this](CommandEnded ended) { OnEnded(ended); };
  events.lost = [this](Status status) {
    if (stop_reason_) {  // it was to end, and has
      stop_reason_ = Status(stop_reason_->code(), stop_reason_->what(), stop_reason_->why() + "; " + status.why(),
                            stop_reason_->remedy());
    } else {
      Blame(Fail(ErrorCode::kLostDaemon, "run " + row_.id, status.why(), status.remedy()));
    }
    BeginCollecting();
  };
  launched_mono_ns_ = context_.clock.mono_ns();
  auto launch = [&]() -> Status {
    OutputSockets client;  // ours only until the supervisor has them
    if (context_.client_outputs != nullptr) {
      client = context_.client_outputs->Take(row_.uid, row_.idempotency_key);
    }
    ASSIGN_OR_RETURN(const OutputFiles output, SupervisorsOutput(client));
    ASSIGN_OR_RETURN(launched_, context_.launcher.Launch(prepared.request, {row_.starter, row_.uid}, row_.id, output,
                                                         std::move(events)));
    was_launched_ = true;
    return OkStatus();
  };
  Status launched = launch();
  if (taking_) taking_->GaveEnds();
  if (!launched.ok()) {
    Blame(launched);
    return BeginCollecting();
  }
  // The supervisor sets up while the state is being committed; it goes on only when both are ready. The helper may be
  // away: until it has started one, the run is preparing.
  if (row_.starter != RunStarter::kHelper && !prepares_) CommitRunning();
  if (prepares_) events_.changed(row_);  // its client may come for it now
}

void CommandLife::CommitRunning() {
  row_.state = RunState::kRunning;
  row_.started_ns = context_.clock.unix_ns();
  committing_running_ = true;
  Commit(nullptr, [this](Status status) {
    committing_running_ = false;
    if (ended_) return;  // the launch failed meanwhile
    if (!status.ok()) Blame(status);
    running_committed_ = true;
    if (error_ || stop_reason_) return BeginCollecting();  // nothing was executed yet
    GoWhenReady();
  });
}

// It waits again, as in the queue, and as long as there.
void CommandLife::OnHeldUp(const Status& why) {
  LogWarning("run waits for who is to start it", {{"run", row_.id}, {"error", why.ToString()}});
  if (row_.queue_timeout_ms <= 0) return;
  const int64_t waited_ns = std::max<int64_t>(0, context_.clock.unix_ns() - row_.queued_ns);
  const int64_t left_ns = std::max<int64_t>(0, row_.queue_timeout_ms * kNanosPerMilli - waited_ns);
  timeout_ = context_.loop.After(left_ns, [this, why] {
    Stop(Fail(ErrorCode::kQueueTimeout, "run " + row_.id, "it waited longer than its queue timeout; " + why.why(),
              "give it more with --queue-timeout; kprofctl doctor says what is wrong"),
         0);
  });
}

void CommandLife::OnStepBegins() {
  step_runs_ = true;
  LimitSteps("its --prepare", longest_ms_, longest_ms_);
}

// Steps after it, and the search for what it left, are to be in nothing that is measured.
void CommandLife::OnCommandOver() {
  hold_.EndWatching();
  timeout_.Cancel();
  if (ended_) return;
  const int64_t took_ms = (context_.clock.mono_ns() - went_mono_ns_) / kNanosPerMilli;
  if (longest_ms_ > 0) return LimitSteps("with what follows its command it", longest_ms_, longest_ms_ - took_ms);
  if (row_.timeout_ms <= 0) return;
  const int64_t limit_ms = std::max(row_.timeout_ms, kLeastForStepsMs);
  LimitSteps("what follows its command", limit_ms, limit_ms);
}

void CommandLife::LimitSteps(const std::string& what, int64_t limit_ms, int64_t left_ms) {
  if (limit_ms <= 0) return;
  timeout_ = context_.loop.After(std::max<int64_t>(0, left_ms) * kNanosPerMilli, [this, what, limit_ms] {
    Stop(Fail(ErrorCode::kTimedOut, "run " + row_.id,
              what + " ran for the " + SecondsText(limit_ms) + " that it may take here",
              "do less at a time; whoever runs the node can raise [limits] max_run_minutes"),
         kTimeoutGraceMs);
  });
}

// The files themselves go to a supervisor of our own user alone.
Result<OutputFiles> CommandLife::SupervisorsOutput(const OutputSockets& client) {
  OutputFiles files{files_.stdout_log->fd(), files_.stderr_log->fd(), files_.progress->fd()};
  if (row_.starter == RunStarter::kDaemon) {
    files.client_stdout_fd = client.out.get();
    files.client_stderr_fd = client.err.get();
    return files;
  }
  if (context_.intake == nullptr) return OutputFiles();  // nor is there a way to start it: see launcher.h
  ASSIGN_OR_RETURN(taking_, context_.intake->Begin(files, context_.output));
  OutputFiles ends = taking_->ends();
  if (files_.held) ends.held_fd = files_.held->fd();
  return ends;
}

void CommandLife::GoWhenReady() {
  if (!prepared_ || !running_committed_ || ended_ || went_) return;
  went_ = true;
  went_mono_ns_ = context_.clock.mono_ns();
  hold_.BeginWatching();
  turns_ ? AskTurn(*turns_->Next(0)) : launched_->Go();
  // From here on, not from Started: who is slow to say that it has started has no more time.
  if (row_.timeout_ms <= 0) return;
  timeout_ = context_.loop.After(row_.timeout_ms * kNanosPerMilli, [this] { Stop(WhyTimedOut(), kTimeoutGraceMs); });
}

void CommandLife::AskTurn(const TurnAsked& turn) {
  turn_asked_mono_ns_ = context_.clock.mono_ns();
  launched_->Turn(turn);
}

// Judged on a worker: some thousands of samples are resampled ten thousand times.
void CommandLife::OnTurnOver(const TurnEnded& turn) {
  if (ended_ || turn_is_judged_) return;
  const int64_t now_ns = context_.clock.mono_ns();
  const bool goes_on = turn.exit_code == 0 && !stop_reason_;  // else the supervisor ends the turns by itself
  turn_is_judged_ = true;
  auto work = [turns = turns_, turn, goes_on, took_ns = now_ns - turn_asked_mono_ns_,
               elapsed_ms = (now_ns - went_mono_ns_) / kNanosPerMilli]() -> Result<AfterTurn> {
    AfterTurn after;
    // A process that found a wrong result may well end with another code than 0.
    after.failed = turn.exit_code == 0 ? turns->Add(turn, took_ns)
                                       : WhyWrong(ReadEventReport(turn.text, turn.dropped_bytes), turn.side);
    if (goes_on && after.failed.ok()) after.next = turns->Next(elapsed_ms);
    return after;
  };
  OnWorker<AfterTurn>(context_.files_work, std::move(work), &CommandLife::OnTurnAdded);
}

void CommandLife::OnTurnAdded(Result<AfterTurn> after) {
  turn_is_judged_ = false;
  const Status failed = after.ok() ? after->failed : after.status();
  if (!failed.ok()) Blame(Fail(failed.code(), "run " + row_.id, failed.why(), failed.remedy()));
  if (ended_) return CollectWhenReady();
  if (failed.ok() && after->next && !stop_reason_) return AskTurn(*after->next);
  if (!stop_reason_) launched_->Enough();
}

// A file that the keeping of outputs takes as one of the tool's.
Result<std::shared_ptr<ReceivedOutput>> CommandLife::KeepSamples(const std::string& text) const {
  const std::string path = context_.catalog.layout().TemporaryFolder() + "/" + RandomName();
  ASSIGN_OR_RETURN(const std::unique_ptr<File> written, context_.files.Create(path));
  Status status = written->Append(text);
  Result<std::unique_ptr<File>> read = status.ok() ? context_.files.OpenForRead(path) : status;
  RETURN_IF_ERROR(context_.files.Remove(path));
  RETURN_IF_ERROR(read.status());
  auto output = std::make_shared<ReceivedOutput>();
  output->found = {std::string(kEventSamplesFile), kSamplesOutput};
  output->fd.Reset(::fcntl((*read)->fd(), F_DUPFD_CLOEXEC, 0));
  if (!output->fd.valid()) return FailErrno(errno, "keep the samples of run " + row_.id);
  return output;
}

Status CommandLife::WhyTimedOut() const {
  const std::string what = "run " + row_.id;
  const std::string time = SecondsText(row_.timeout_ms);
  if (!timeout_is_nodes_) {
    return Fail(ErrorCode::kTimedOut, what, "it ran longer than its timeout of " + time, "give it more with --timeout");
  }
  return Fail(ErrorCode::kTimedOut, what,
              "it asked for no timeout, and ran for the " + time + " that this node lets a run last",
              "measure less at a time, or ask whoever runs the node for a longer [limits] max_run_minutes");
}

void CommandLife::OnStarted(const CommandStarted& started) {
  started_ = true;
  row_.started_ns = Believable(started.unix_ns, row_.queued_ns);
  LogInfo("command started", {{"run", row_.id}, {"pid", std::to_string(started.pid)}});
  hold_.NoteCommand(started.pid);
  RemoveSpoolSoon(context_, row_.id);
}

// A caller's supervisor says what its caller likes; by what it says of times, runs are listed and expire.
int64_t CommandLife::Believable(int64_t unix_ns, int64_t not_before_ns) const {
  if (row_.starter == RunStarter::kDaemon) return unix_ns;
  const int64_t now_ns = context_.clock.unix_ns();
  return std::clamp(unix_ns, std::min(not_before_ns, now_ns), now_ns);
}

bool CommandLife::Stop(const Status& reason, int64_t grace_ms) {
  KPROF_ON_IO_LOOP(context_.loop);
  if (ended_) return StopKeeping(reason);
  if (!stop_reason_ && !reason.ok()) stop_reason_ = reason;
  if (went_ || step_runs_) {
    launched_->Stop(grace_ms);
  } else if (launched_ && !committing_running_ && !preparing_devices_) {
    BeginCollecting();  // it waits for its supervisor; nothing was executed yet
  } else {
    hold_.Hurry();  // it, a commit or a worker is on its way back and will see stop_reason_
  }
  return true;
}

void CommandLife::OnEnded(const CommandEnded& ended) {
  command_ = row_.starter == RunStarter::kDaemon
                 ? ended
                 : ClampReportedEnd(ended, context_.clock.mono_ns() - launched_mono_ns_);
  if (command_->unkillable_processes > 0 && row_.starter != RunStarter::kClient) may_live_on_ = true;
  BeginCollecting();
}

void CommandLife::BeginCollecting() {
  if (ended_) return;
  ended_ = true;
  timeout_.Cancel();
  // Closes the channel, and with it whatever has not ended. Later: we may be inside one of its events.
  context_.loop.Post([launched = std::shared_ptr<Launched>(std::move(launched_))] {});
  if (leased_) row_.state = RunState::kCollecting;
  row_.ended_ns = command_ ? Believable(command_->ended_unix_ns, row_.started_ns.value_or(row_.queued_ns))
                           : context_.clock.unix_ns();
  FinishOutput();
  LeaveDevices();
  if (!leased_) {  // it is queued until it has ended
    collecting_committed_ = true;
    return context_.loop.Post([this] { CollectWhenReady(); });
  }
  Commit(nullptr, [this](Status status) {
    if (!status.ok()) Blame(status);
    collecting_committed_ = true;
    CollectWhenReady();
  });
}

void CommandLife::FinishOutput() {
  if (!taking_) return;
  taking_->Finish([this](int first_error) {
    if (command_) command_->output_error = first_error;  // of what we wrote ourselves, whatever it says
    taking_.reset();
    CollectWhenReady();
  });
}

void CommandLife::LeaveDevices() {
  hold_.End([this](WatchedDevices seen) {
    for (TrustReason& reason : seen.trust) row_.trust.push_back(std::move(reason));
    for (MetricRow& metric : seen.metrics) row_.metrics.push_back(std::move(metric));
    if (seen.part) row_.trace.push_back(*std::move(seen.part));
    idle_devices_ = std::move(seen.idle);
    left_devices_ = true;
    CollectWhenReady();
  });
}

// However it came to its end: nothing is written into its folder any more once that is collected.
void CommandLife::CollectWhenReady() {
  if (!collecting_committed_ || taking_ || !left_devices_ || turn_is_judged_) return;
  if (std::exchange(collecting_files_, true)) return;
  if ((outputs_.has_some() || turns_) && !may_live_on_ && events_.left_devices)
    events_.left_devices(row_, WhyItFailed());
  CollectFiles();
}

void CommandLife::CollectFiles() {
  files_ = RunFiles();
  std::string metrics;
  if (command_) metrics = std::exchange(command_->metrics, {});
  const int64_t dropped_bytes = command_ ? command_->metrics_dropped_bytes : 0;
  auto work = [this, id = row_.id, has_samples = !row_.trace.empty(), metrics = std::move(metrics),
               dropped_bytes]() -> Result<Gathered> {
    Gathered gathered;
    gathered.reported = ReadReportedMetrics(metrics, dropped_bytes);
    if (turns_ && !turns_->turns().empty()) {
      gathered.event = turns_->Finish();
      ASSIGN_OR_RETURN(gathered.samples, KeepSamples(gathered.event->samples));
    }
    // Its supervisor removes it, unless that was killed.
    if (row_.starter == RunStarter::kDaemon) (void)context_.files.RemoveTree(OutputFolderOf(id));
    ASSIGN_OR_RETURN(gathered.collected, CollectRunFolder(context_.files, context_.catalog.layout(), id, has_samples));
    return gathered;
  };
  OnWorker<Gathered>(context_.files_work, std::move(work), &CommandLife::OnCollected);
}

void CommandLife::OnCollected(Result<Gathered> gathered) {
  if (gathered.ok()) {
    SetCollected(row_, std::move(gathered->collected));
    reported_ = std::move(gathered->reported);
    event_ = std::move(gathered->event);
    if (gathered->samples) outputs_.Take(gathered->samples);
    events_.changed(row_);  // who follows its logs need not wait for what is imported
  } else {
    Blame(gathered.status());
  }
  if (error_) {
    outputs_.Drop();
    return OnOutputsOver();
  }
  // Where the command did not hear of it: that is over, but what it left is not.
  if (stop_reason_ && command_) StopKeeping(*stop_reason_);
  outputs_.Begin(row_.artifacts, command_ ? command_->tool_notes : std::vector<std::string>());
}

std::string CommandLife::OutputFolderOf(const std::string& id) const {
  return context_.catalog.layout().TemporaryFolder() + "/outputs-" + id;
}

void CommandLife::OnOutputsOver() {
  OutputKeeping::Kept kept = outputs_.TakeKept();
  if (kept.error) Blame(*kept.error);
  row_.artifacts.insert(row_.artifacts.end(), kept.artifacts.begin(), kept.artifacts.end());
  std::sort(row_.artifacts.begin(), row_.artifacts.end(),
            [](const ArtifactRow& a, const ArtifactRow& b) { return a.name < b.name; });
  for (TracePartRow& part : kept.imported.trace) row_.trace.push_back(std::move(part));
  row_.metrics.insert(row_.metrics.end(), kept.imported.metrics.begin(), kept.imported.metrics.end());
  kernel_metrics_ = std::move(kept.imported.kernel_metrics);
  row_.trust.insert(row_.trust.end(), kept.trust.begin(), kept.trust.end());
  const bool is_stopped = stop_reason_ && !daemon_stops_;
  const bool ended_well = command_ && !error_ && !is_stopped && !WhyCommandFailed(*command_, row_);
  if (ended_well) {
    if (std::optional<Status> why = outputs_.WhyItsToolFailed(row_.trace, row_.trust)) {
      Blame(daemon_stops_ ? *daemon_stops_ : *why);
    }
  }
  End();
}

// Its command has ended. Where it is the daemon that stops, that counts, with what is kept of it by then.
bool CommandLife::StopKeeping(const Status& reason) {
  const bool daemon_stops = reason.code() == ErrorCode::kLostDaemon;
  if (!outputs_.Stop(daemon_stops)) return false;
  if (daemon_stops) {
    daemon_stops_ = reason;
  } else if (!reason.ok()) {
    if (!stop_reason_) stop_reason_ = reason;
    was_stopped_keeping_ = true;
  }
  return true;
}

void CommandLife::Blame(const Status& error) {
  if (IsForTheOperator(error.code())) {
    LogWarning("run in trouble", {{"run", row_.id}, {"error", error.ToString()}});
  } else {  // the text has the command's path in it, which is for its owner
    LogInfo("run in trouble", {{"run", row_.id}, {"error", std::string(ErrorName(error.code()))}});
  }
  if (!error_) error_ = error;
}

std::optional<Status> CommandLife::WhyItFailed() const {
  if (was_stopped_keeping_) return stop_reason_;
  if (error_) return error_;
  if (!command_ || (stop_reason_ && !went_)) return stop_reason_;
  if (command_->output_error == 0 && stop_reason_ && command_->stopped) return stop_reason_;
  return WhyCommandFailed(*command_, row_);
}

// Of its one device, or of several of one kind together.
PhysicalFloor CommandLife::FloorOfDevices() const {
  const std::shared_ptr<const DeviceList> list = context_.devices.now();
  const Device* first = nullptr;
  double count = 0;
  for (const Device& device : list->all()) {
    if (std::find(row_.devices.begin(), row_.devices.end(), device.id) == row_.devices.end()) continue;
    if (first != nullptr && (first->kind != device.kind || first->name != device.name)) return {};
    first = &device;
    ++count;
  }
  const Result<const PeakTable*> table = PeaksInUse();
  if (first == nullptr || !table.ok()) return {};
  const DevicePeaks* const peaks = (*table)->Find(first->kind, first->name);
  if (peaks == nullptr) return {};
  PhysicalFloor floor;
  constexpr double kTeraPerGiga = 1e3;  // TFLOP/s are 1e3 FLOP in a ns, GB/s one byte
  constexpr double kBytesPerMega = 1e6;
  for (const Peak& peak : peaks->peaks) {
    if (peak.origin == PeakOrigin::kMeasured) continue;
    if (peak.quantity == kDenseRate) floor.flop_per_ns = std::max(floor.flop_per_ns, count * peak.value * kTeraPerGiga);
    if (peak.quantity == kMemoryBandwidth) floor.byte_per_ns = std::max(floor.byte_per_ns, count * peak.value);
    if (peak.quantity == kL2Size) floor.cache_bytes = std::max(floor.cache_bytes, count * peak.value * kBytesPerMega);
  }
  floor.device = first->name;
  return floor;
}

// Samples that say how long a device worked, while nobody saw it at work.
void CommandLife::DisputeIdleDevices() {
  const bool are_all_idle = !row_.devices.empty() && idle_devices_.size() == row_.devices.size();
  if (!event_->has_reported || !are_all_idle) return;
  constexpr const char* kCode = "device_idle_during_samples";
  event_->doubts.insert(event_->doubts.begin(),
                        {kCode,
                         "the device was never seen at work while samples were reported: lease what the command "
                         "uses, --device cpu where that is the host"});
  if (!event_->verdict) return;
  event_->verdict->name = "INCONCLUSIVE";
  event_->verdict->reasons.insert(event_->verdict->reasons.begin(), kCode);
}

void CommandLife::AddEventOutcome() {
  if (!event_) return;
  DisputeIdleDevices();
  if (!WhyItFailed()) {
    row_.verdict = std::move(event_->verdict);
    row_.trust.insert(row_.trust.end(), event_->doubts.begin(), event_->doubts.end());
  }
  row_.metrics.insert(row_.metrics.end(), event_->metrics.begin(), event_->metrics.end());
  kernel_metrics_.insert(kernel_metrics_.end(), event_->case_metrics.begin(), event_->case_metrics.end());
  row_.trust.insert(row_.trust.end(), event_->trust.begin(), event_->trust.end());
}

void CommandLife::End() {
  ended_ = true;
  if (command_ && went_) {
    SetCommandEnded(row_, *command_);
    AddReportedMetrics(std::move(reported_), row_, kernel_metrics_);
    AddEventOutcome();
  } else if (!went_) {
    row_.started_ns.reset();
  }
  SetEnd(row_, WhyItFailed(), context_.clock.unix_ns());
  // Who launched it lets go of its grant when nothing is left of it.
  if (!was_launched_ && row_.starter == RunStarter::kHelper && context_.grants != nullptr) {
    context_.grants->Forget(row_.id);
  }
  events_.ended({row_, may_live_on_, went_, started_ || command_, std::move(kernel_metrics_)});
}

}  // namespace kprof
