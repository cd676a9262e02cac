#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/import_files.h"
#include "client/cli/verbs/neuron_files_to_import.h"
#include "client/cli/verbs/run_summary.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/run_text.h"
#include "client/cli/waiting/follow_run.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cli/waiting/progress.h"
#include "client/cpp/side_socket_client.h"
#include "storage/base/files.h"

namespace kprof::cli {
namespace {

constexpr size_t kSourceChunkBytes = 256 << 10;

Status Interrupted() {
  return Fail(ErrorCode::kCancelled, "import", "interrupted before anything was submitted");
}

// kprofd gives up what it has not stored by then. A run that it had stored ends without us, unless it is detached.
Status InterruptedWhileSubmitting(bool detached) {
  return Fail(ErrorCode::kCancelled, "import", "interrupted before kprofd answered",
              detached ? "kprofctl runs tells whether it is there all the same" : "");
}

// What is sent of a file, and how far that is.
class SentFile {
 public:
  SentFile(const ImportFile& file, ProgressLine& line, const Interrupts& interrupts)
      : file_(file), line_(line), interrupts_(interrupts) {}

  Result<std::string> Next() {
    if (interrupts_.first() != 0) return Interrupted();
    std::string bytes(kSourceChunkBytes, '\0');
    ssize_t got = 0;
    do {
      if (!file_.is_regular && !interrupts_.WaitReadable(file_.fd.get())) return Interrupted();
      got = file_.is_regular ? ::pread(file_.fd.get(), bytes.data(), bytes.size(), sent_bytes_)
                             : ::read(file_.fd.get(), bytes.data(), bytes.size());
    } while (got < 0 && (errno == EAGAIN || errno == EINTR));
    if (got < 0) return FailErrno(errno, "read " + TerminalText(file_.path));
    bytes.resize(static_cast<size_t>(got));
    sent_bytes_ += got;
    std::string text = "sending " + TerminalText(file_.name) + "  " + FormatBytes(sent_bytes_);
    if (file_.size_bytes > 0) text += " of " + FormatBytes(file_.size_bytes);
    line_.Show(text);
    return bytes;
  }

 private:
  const ImportFile& file_;
  ProgressLine& line_;
  const Interrupts& interrupts_;
  int64_t sent_bytes_ = 0;
};

Result<std::string> Send(const ImportFile& file, KprofClient& client, const VerbContext& context,
                         const Interrupts& interrupts) {
  // The daemon does not wait long for more.
  if (!file.is_regular && !interrupts.WaitReadable(file.fd.get())) return Interrupted();
  ProgressLine line(context.output, ProgressAllowed(context.output));
  SentFile sent(file, line, interrupts);
  v1::UploadSourceRequest::Header header;
  header.set_name(file.name);
  header.set_size_bytes(file.size_bytes);
  header.set_may_be_none(file.from_folder);
  return client.UploadSource(header, [&] { return sent.Next(); });
}

// The ticket of a file: handed over where the daemon is here and takes it, else sent.
Result<std::string> Bring(const ImportFile& file, KprofClient& client, const VerbContext& context,
                          const Interrupts& interrupts) {
  if (interrupts.first() != 0) return Interrupted();
  if (file.is_regular && !context.on_another_node) {
    Result<std::string> held = SendOpenFile(client.socket_path(), file.fd.get());
    const ErrorCode code = held.status().code();
    if (code != ErrorCode::kUsage && code != ErrorCode::kNoDaemon) return held;
  }
  return Send(file, client, context, interrupts);
}

v1::ImportGrouping GroupingOf(const ImportArgs& args) {
  if (args.one_run) return v1::IMPORT_GROUPING_ONE_RUN;
  return args.separate ? v1::IMPORT_GROUPING_SEPARATE : v1::IMPORT_GROUPING_BY_JOB;
}

Result<v1::SubmitImportResponse> Submit(const ImportArgs& args, const VerbContext& context,
                                        const Interrupts& interrupts) {
  ASSIGN_OR_RETURN(const ImportFiles opened, OpenImportFiles(args.files));
  for (const std::string& line : PassedOver(opened)) context.output.Note(line);
  const std::vector<ImportFile>& files = opened.files;
  if (args.rank && files.size() > 1) {
    return Fail(ErrorCode::kUsage, "import", "--rank is for one file, and there are " + std::to_string(files.size()),
                "leave it out: ranks come from the traces, else from the names of the files, else from their order");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::SubmitImportRequest request;
  request.set_idempotency_key(RandomName());
  request.set_format(args.format);
  request.mutable_labels()->insert(args.labels.begin(), args.labels.end());
  request.set_keep_sources(args.keep_source);
  request.set_again(args.again);
  request.set_shared(args.shared);
  request.set_attached(!args.detach);
  request.set_grouping(GroupingOf(args));
  for (const ImportFile& file : files) {
    Result<std::string> ticket = Bring(file, *client, context, interrupts);
    if (!ticket.ok()) {
      const Status& why = ticket.status();
      return why.ToString().find(file.name) != std::string::npos ? why : why.In("import " + TerminalText(file.path));
    }
    v1::SubmitImportRequest::Source& source = *request.add_sources();
    source.set_ticket(*std::move(ticket));
    source.set_name(file.told_name);
    if (args.rank) source.set_rank(*args.rank);
    source.set_may_be_none(file.from_folder);
  }
  ProgressLine line(context.output, ProgressAllowed(context.output));
  if (files.size() > 1 && request.grouping() == v1::IMPORT_GROUPING_BY_JOB) {
    line.Show("looking at " + std::to_string(files.size()) + " files");
  }
  const StopAtSignal at_signal(interrupts);
  Result<v1::SubmitImportResponse> submitted = client->SubmitImport(request, at_signal.stop());
  if (!submitted.ok() && interrupts.first() != 0) return InterruptedWhileSubmitting(args.detach);
  if (submitted.ok() || submitted.status().code() != ErrorCode::kNoDaemon) return submitted;
  // Whether or not it was heard, the key makes it come out right; a daemon that began anew has no sources of ours.
  ASSIGN_OR_RETURN(client, context.connect());
  submitted = client->SubmitImport(request, at_signal.stop());
  if (!submitted.ok() && interrupts.first() != 0) return InterruptedWhileSubmitting(args.detach);
  return submitted;
}

// A run of this import.
struct ImportedRun {
  v1::Run run;
  bool existing = false;        // from an earlier import of the same
  Status unknown = OkStatus();  // why its end is not known; `run` is as it was then
};

std::vector<ImportedRun> RunsOf(v1::SubmitImportResponse& submitted) {
  std::vector<ImportedRun> runs;
  runs.push_back({std::move(*submitted.mutable_run()), submitted.existing(), OkStatus()});
  for (v1::SubmitImportResponse::Another& another : *submitted.mutable_others()) {
    runs.push_back({std::move(*another.mutable_run()), another.existing(), OkStatus()});
  }
  return runs;
}

// "0-7", "0,3": the ranks that its parts have; those of the first parts alone, where not all are told.
std::string RankText(const v1::Run& run) {
  std::vector<int64_t> ranks;
  for (const v1::TracePart& part : run.trace_parts()) {
    if (part.has_rank()) ranks.push_back(part.rank());
  }
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return run.trace_part_count() > run.trace_parts_size() ? text + "..." : text;
}

std::string SourceNames(const v1::Run& run) {
  std::string text;
  for (const v1::TracePart& part : run.trace_parts()) text += (text.empty() ? "" : " ") + part.source_name();
  return text.empty() ? CommandOf(run) : text;
}

std::string FirstName(const v1::Run& run) {
  if (run.trace_parts().empty()) return CommandOf(run);
  const int more = run.trace_part_count() - 1;
  return TerminalText(run.trace_parts(0).source_name()) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

// Several runs: a line for each.
void WriteRuns(const std::vector<ImportedRun>& runs, const VerbContext& context) {
  if (context.global.json) {
    for (const ImportedRun& imported : runs) context.output.Write(RunJsonLine(imported.run));
    return;
  }
  Table table(
      {{"ID"}, {"STATE"}, {"RANKS"}, {"SLICES", Align::kRight}, {"TRUST", Align::kLeft, Cut::kAtEnd}, {"FILES"}},
      context.output);
  for (const auto& [run, existing, unknown] : runs) {
    std::set<std::string> codes;
    for (const v1::TrustReason& reason : run.trust()) codes.insert(reason.code());
    std::string trust;
    for (const std::string& code : codes) trust += (trust.empty() ? "" : ",") + code;
    StyledText state = {run.has_error() ? run.error().code() : RunStateName(run.state()), StyleOf(run.state())};
    if (!unknown.ok()) state = {"unknown", TextStyle::kWarning};
    table.AddStyledRow({{run.id()},
                        state,
                        {RankText(run)},
                        {run.has_trace() ? std::to_string(run.trace().slices()) : ""},
                        {trust, TextStyle::kWarning},
                        {SourceNames(run)}});
  }
  table.Finish();
}

// Follows them one after the other: who holds one of them holds all. Those whose ends cannot be learnt have `unknown`.
void FollowAll(std::vector<ImportedRun>& runs, const ImportArgs& args, const VerbContext& context,
               const Interrupts& interrupts) {
  if (runs.size() > 1) {
    context.output.Note("the files become " + std::to_string(runs.size()) + " runs" +
                        (args.separate ? "" : ", one for each job; --one-run makes one of them"));
  }
  bool is_daemon_lost = false;
  for (ImportedRun& imported : runs) {
    if (imported.existing) {
      context.output.Note("the same was imported before, as run " + imported.run.id() + "; --again imports it anew");
    } else if (is_daemon_lost) {
      imported.unknown =
          Fail(ErrorCode::kLostDaemon, "import as " + imported.run.id(), "kprofd went away before it ended");
    } else if (!args.detach) {
      const FollowOptions options = {
          .act = "import as", .hold = true, .interrupt_cancels = true, .reconnect_ms = context.reconnect_ms};
      Result<v1::Run> ended = FollowRun(context.connect, imported.run.id(), options, interrupts, context.output);
      const ErrorCode code = ended.status().code();
      is_daemon_lost = code == ErrorCode::kLostDaemon || code == ErrorCode::kNoDaemon;
      ended.ok() ? void(imported.run = *std::move(ended)) : void(imported.unknown = ended.status());
    }
  }
}

// The failure of the first run that was not imported. Those of the others are notes.
Status OutcomeOfAll(const std::vector<ImportedRun>& runs, Output& output) {
  Status first;
  for (const ImportedRun& imported : runs) {
    const Status outcome = imported.unknown.ok() ? OutcomeOf(imported.run) : imported.unknown;
    if (outcome.ok()) continue;
    if (first.ok()) {
      first = outcome;
    } else {
      output.Note(outcome.ToString(), TextStyle::kTrouble);
    }
  }
  return first;
}

// The first look at what was imported. Of several runs the first has it, and a note tells how to get the others.
void WriteSummary(const std::vector<ImportedRun>& runs, const VerbContext& context) {
  Output& output = context.output;
  const auto shown = std::find_if(runs.begin(), runs.end(), [](const ImportedRun& imported) {
    return imported.unknown.ok() && imported.run.state() == v1::RUN_STATE_DONE;
  });
  if (shown == runs.end()) return;
  output.Write(SummaryOfRun(shown->run, {output.ResultWidth(), output.result_has_colours()}, context));
  if (runs.size() == 1) return;
  (void)output.Flush();
  output.Note("that is run " + shown->run.id() + " (" + FirstName(shown->run) +
              "); of another one: kprofctl analyze summary ID; @last is " + runs.back().run.id() + " (" +
              FirstName(runs.back().run) + ")");
}

}  // namespace

Status RunVerb(const ImportArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(const std::optional<CaptureArgs> capture, CaptureOfNeuronFiles(args));
  if (capture) return RunVerb(*capture, context);
  std::vector<ImportedRun> runs;
  {
    Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
    ASSIGN_OR_RETURN(v1::SubmitImportResponse submitted, Submit(args, context, interrupts));
    runs = RunsOf(submitted);
    FollowAll(runs, args, context, interrupts);
  }
  const auto report = [&context](const v1::Run& run) { return ShortReport(run, context.output.result_has_colours()); };
  if (args.detach && !context.global.json) {
    for (const ImportedRun& imported : runs) {
      context.output.Write(imported.existing && runs.size() == 1 ? report(imported.run) : imported.run.id() + "\n");
    }
  } else if (runs.size() == 1 && !runs.front().unknown.ok()) {
    return runs.front().unknown;
  } else if (runs.size() == 1 && !context.global.json) {
    context.output.Write(report(runs.front().run));
  } else {
    WriteRuns(runs, context);
  }
  if (!args.detach && !context.global.json) WriteSummary(runs, context);
  (void)context.output.Flush();
  return OutcomeOfAll(runs, context.output);
}

}  // namespace kprof::cli
