#include "daemon/runs/command/output_keeping.h"

#include <algorithm>
#include <utility>

#include "daemon/ingest/neuron/system_trace_reader.h"
#include "daemon/runs/seconds_text.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kTellImportEveryNs = 200 * kNanosPerMilli;
constexpr size_t kShownReasonBytes = 512;

TrustReason NotImportedAtStop() {
  return {kOutputNotImported, "kprofd was stopped before its traces were read; they are among its artifacts"};
}

}  // namespace

OutputKeeping::OutputKeeping(const RunContext& context, const RunRow& run, uint32_t account, const Tool& tool,
                             int64_t longest_ms, Events events)
    : context_(context),
      run_(run),
      uid_(run.uid),
      account_(account),
      is_callers_(run.starter != RunStarter::kDaemon),
      tool_(tool),
      longest_ms_(longest_ms),
      events_(std::move(events)) {}

template <typename T>
void OutputKeeping::OnWorker(WorkerPool& pool, std::function<Result<T>()> work,
                             void (OutputKeeping::*then)(Result<T>)) {
  auto job = [this, &loop = context_.loop, work = std::move(work), then] {
    auto result = std::make_shared<Result<T>>(work());  // shared: std::function copies its captures
    loop.Post([this, result, then] { (this->*then)(std::move(*result)); });
  };
  Status submitted = pool.Submit(std::move(job));
  if (!submitted.ok()) context_.loop.Post([this, then, submitted] { (this->*then)(submitted); });
}

void OutputKeeping::Take(const std::shared_ptr<ReceivedOutput>& file) {
  HeldOutput output{file, nullptr, 0};
  if (context_.imports != nullptr && is_callers_) {
    Result<Places::Place> place = context_.imports->sources.TakePlace(account_);
    if (!place.ok()) {
      ++refused_;
      return;
    }
    output.place = std::make_shared<Places::Place>(*std::move(place));
  }
  outputs_.push_back(std::move(output));
}

void OutputKeeping::Begin(std::vector<ArtifactRow> taken, const std::vector<std::string>& tool_notes) {
  KPROF_ON_IO_LOOP(context_.loop);
  goes_on_ = true;
  taken_ = std::move(taken);
  for (const std::string& note : tool_notes) dropped_events_ = std::max(dropped_events_, DroppedEventsIn(note));
  NoteWhatIsLeftOut();
  if (IsOver()) return;
  if (outputs_.empty()) return EndIt();
  auto work = [outputs = std::exchange(outputs_, {}), policy = context_.outputs,
               is_callers = is_callers_]() -> Result<ChosenOutputs> {
    return ChooseOutputs(outputs, policy, is_callers);
  };
  OnWorker<ChosenOutputs>(context_.outputs_work, std::move(work), &OutputKeeping::OnChosen);
}

void OutputKeeping::NoteWhatIsLeftOut() {
  for (const std::string& reason : left_out_.reasons) {
    kept_.trust.push_back({kOutputLeftOut, ClippedText(reason, kShownReasonBytes)});
  }
  if (left_out_.more > 0) kept_.trust.push_back({kOutputLeftOut, std::to_string(left_out_.more) + " more files"});
  if (refused_ == 0) return;
  kept_.trust.push_back({kOutputLeftOut, std::to_string(refused_) +
                                             " files: too many of this user's are on their way to be kept; collect "
                                             "fewer, or run fewer at once"});
}

void OutputKeeping::OnChosen(Result<ChosenOutputs> chosen) {
  if (!chosen.ok()) kept_.error = chosen.status();
  if (chosen.ok()) {
    kept_.trust.insert(kept_.trust.end(), chosen->trust.begin(), chosen->trust.end());
    outputs_ = std::move(chosen->outputs);
  }
  if (IsOver()) return;
  if (outputs_.empty()) return EndIt();
  CheckRoom(chosen->bytes, [this](const Status& status) {
    if (!status.ok()) kept_.error = status;
    if (!IsOver()) Copy();
  });
}

void OutputKeeping::CheckRoom(int64_t bytes, std::function<void(Status)> then) {
  if (context_.storage == nullptr) return then(OkStatus());
  auto fits = [storage = context_.storage, uid = uid_, bytes](Db& db) {
    return storage->CheckBytes(db, uid, bytes, "keep what the command left");
  };
  // The writer may answer when we are gone; what it posts then never runs.
  context_.catalog.writer().Submit(std::move(fits),
                                   [&loop = context_.loop, then = std::move(then)](const Status& status) {
                                     loop.Post([then, status] { then(status); });
                                   });
}

void OutputKeeping::Copy() {
  RunRow run = run_;
  run.artifacts = taken_;
  auto work = [&files = context_.files, &layout = context_.catalog.layout(), run = std::move(run),
               policy = context_.outputs, outputs = std::exchange(outputs_, {}),
               stop = stop_.get_token()] { return KeepOutputs(outputs, files, layout, run, policy, stop); };
  OnWorker<KeptOutputs>(context_.outputs_work, std::move(work), &OutputKeeping::OnCopied);
}

void OutputKeeping::OnCopied(Result<KeptOutputs> copied) {
  if (copied.ok()) {
    files_ = std::move(copied->kept);
    for (const KeptOutput& file : files_) kept_.artifacts.push_back(file.artifact);
    kept_.trust.insert(kept_.trust.end(), copied->trust.begin(), copied->trust.end());
  } else if (daemon_stops_ && copied.status().code() == ErrorCode::kCancelled) {
    kept_.trust.push_back({kOutputLeftOut, "kprofd was stopped while files were being kept"});
  } else if (!was_stopped_) {
    kept_.error = copied.status();
  }
  const bool has_traces = context_.imports != nullptr && HaveTraces(files_, tool_);
  if (has_traces && daemon_stops_) kept_.trust.push_back(NotImportedAtStop());
  if (IsOver()) return;
  if (!has_traces) return EndIt();
  waits_to_import_ = true;
  events_.wait_to_import([this] {
    if (std::exchange(waits_to_import_, false)) Import();  // else it was stopped meanwhile
  });
}

void OutputKeeping::Import() {
  if (longest_ms_ > 0) {
    import_limit_ = context_.loop.After(longest_ms_ * kNanosPerMilli, [this] { stop_.request_stop(); });
  }
  auto work = [&context = *context_.imports, &files = context_.files, &layout = context_.catalog.layout(),
               &tool = tool_, id = run_id_, kept = files_, dropped = dropped_events_, stop = stop_.get_token(),
               report = Reporter()]() -> Result<Imported> {
    ASSIGN_OR_RETURN(const std::shared_ptr<ImportPlan> plan, PlanToImport(kept, tool, files, layout, id));
    plan->dropped_events = dropped;
    return ImportSources(context, files, layout, id, *plan, stop, report);
  };
  OnWorker<Imported>(context_.imports->pool, std::move(work), &OutputKeeping::OnImported);
}

// Called on the thread that reads; tells the loop some times a second.
OnImportProgress OutputKeeping::Reporter() {
  return
      [this, &loop = context_.loop, &clock = context_.clock, last_ns = int64_t{0}](const ImportProgress& now) mutable {
        const int64_t now_ns = clock.mono_ns();
        if (last_ns != 0 && now_ns - last_ns < kTellImportEveryNs) return;
        last_ns = now_ns;
        // We are there until the result is, which is posted after this.
        loop.Post([this, now] {
          if (events_.import_progress) events_.import_progress(now);
        });
      };
}

void OutputKeeping::OnImported(Result<Imported> imported) {
  import_limit_.Cancel();
  if (imported.ok()) {
    kept_.trust.insert(kept_.trust.end(), imported->trust.begin(), imported->trust.end());
    kept_.imported = *std::move(imported);
    if (!kept_.imported.trace.empty()) return CheckRoomOfParts();
  } else if (imported.status().code() != ErrorCode::kCancelled) {
    kept_.error = imported.status();
  } else if (daemon_stops_) {
    kept_.trust.push_back(NotImportedAtStop());
  } else if (!was_stopped_) {
    kept_.trust.push_back({kOutputNotImported, "to read its traces took the " + SecondsText(longest_ms_) +
                                                   " that this node lets a run last"});
  }
  EndIt();
}

// They may be many times as large as what they were made of.
void OutputKeeping::CheckRoomOfParts() {
  int64_t bytes = 0;
  for (const TracePartRow& part : kept_.imported.trace) bytes += part.bytes;
  for (const ArtifactRow& artifact : kept_.artifacts) bytes += artifact.size_bytes;
  CheckRoom(bytes, [this](const Status& status) { status.ok() ? DrawCharts() : DropParts(status); });
}

void OutputKeeping::DrawCharts() {
  if (!tool_.has_charts || !context_.draw_charts || was_stopped_) return EndIt();
  RunRow run = run_;
  run.trace = kept_.imported.trace;
  run.artifacts = taken_;
  run.artifacts.insert(run.artifacts.end(), kept_.artifacts.begin(), kept_.artifacts.end());
  auto work = [&draw = context_.draw_charts, &files = context_.files, &layout = context_.catalog.layout(),
               run = std::move(run), stop = stop_.get_token()]() -> Result<std::vector<ArtifactRow>> {
    ASSIGN_OR_RETURN(const std::vector<RunChart> charts, draw(run, stop));
    return KeepRunCharts(charts, files, layout, run.id, run.artifacts);
  };
  OnWorker<std::vector<ArtifactRow>>(context_.outputs_work, std::move(work), &OutputKeeping::OnChartsKept);
}

// A run without them is as good: its report draws them anew.
void OutputKeeping::OnChartsKept(Result<std::vector<ArtifactRow>> charts) {
  if (charts.ok()) {
    kept_.artifacts.insert(kept_.artifacts.end(), charts->begin(), charts->end());
  } else if (!was_stopped_) {
    kept_.trust.push_back({kChartsNotDrawn, ClippedText(charts.status().why(), kShownReasonBytes)});
  }
  EndIt();
}

void OutputKeeping::DropParts(const Status& why) {
  kept_.trust.push_back({kOutputNotImported,
                         ClippedText(why.why(), kShownReasonBytes) + "; the files themselves are kept, as artifacts"});
  auto work = [&files = context_.files, &layout = context_.catalog.layout(), id = run_id_,
               parts = std::exchange(kept_.imported, {}).trace]() -> Result<bool> {
    for (const TracePartRow& part : parts) RETURN_IF_ERROR(files.Remove(layout.TracePartPath(id, part.name)));
    return true;
  };
  OnWorker<bool>(context_.outputs_work, std::move(work), &OutputKeeping::OnPartsDropped);
}

void OutputKeeping::OnPartsDropped(Result<bool> dropped) {
  if (!dropped.ok()) kept_.error = dropped.status();
  EndIt();
}

bool OutputKeeping::Stop(bool daemon_stops) {
  KPROF_ON_IO_LOOP(context_.loop);
  if (!goes_on_ && outputs_.empty()) return false;
  was_stopped_ = true;
  daemon_stops_ |= daemon_stops;
  stop_.request_stop();
  if (std::exchange(waits_to_import_, false)) {
    if (daemon_stops_) kept_.trust.push_back(NotImportedAtStop());
    context_.loop.Post([this] { EndIt(); });
  }
  return true;
}

bool OutputKeeping::IsOver() {
  if (!kept_.error && !was_stopped_) return false;
  if (daemon_stops_ && !outputs_.empty()) {
    kept_.trust.push_back({kOutputLeftOut, std::to_string(outputs_.size()) + " files: kprofd was stopped before they "
                                                                             "were kept"});
  }
  EndIt();
  return true;
}

void OutputKeeping::EndIt() {
  goes_on_ = false;
  outputs_.clear();
  events_.over();
}

OutputKeeping::Kept OutputKeeping::TakeKept() {
  return std::exchange(kept_, {});
}

}  // namespace kprof
