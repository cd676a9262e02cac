#include <algorithm>

#include "client/cli/local_file.h"
#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/paged_list.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/markdown_summary.h"
#include "client/cli/views/run_text.h"
#include "client/cli/waiting/follow_run.h"

namespace kprof::cli {

Status RunVerb(const ShowArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::GetRunResponse found, client->GetRun(args.run));
  v1::Run& run = *found.mutable_run();
  const QueuePlace place = PlaceOf(found);
  if (run.artifact_count() > run.artifacts_size()) {
    ASSIGN_OR_RETURN(v1::ListArtifactsResponse all, client->ListArtifacts(run.id()));
    run.mutable_artifacts()->Swap(all.mutable_artifacts());
  }
  context.output.Write(context.global.json ? RunJsonLine(run, &place)
                                           : FullReport(run, place, NowUnixNs(), context.output.result_has_colours()));
  RETURN_IF_ERROR(context.output.Flush());  // the file may be standard output itself
  return args.markdown.empty() ? OkStatus() : AppendToFile(args.markdown, MarkdownOf(run));
}

Status RunVerb(const WaitArgs& args, const VerbContext& context) {
  // No daemon at all is told at once; only one that goes away later is waited for. The whole id, because @last moves
  // on.
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  FollowOptions options = {
      .act = "wait for run", .hold = false, .interrupt_cancels = false, .reconnect_ms = context.reconnect_ms};
  ASSIGN_OR_RETURN(v1::Run found, FindRun(*client, args.run, options.act));
  Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
  ASSIGN_OR_RETURN(v1::Run run, FollowRun(context.connect, found.id(), options, interrupts, context.output));
  context.output.Write(context.global.json
                           ? RunJsonLine(run)
                           : OneLineReport(run, NowUnixNs(), context.output.result_has_colours()) + "\n");
  return OutcomeOf(run);
}

Status RunVerb(const CancelArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::CancelRunRequest request;
  request.set_id(args.run);
  ASSIGN_OR_RETURN(v1::Run run, client->CancelRun(request));
  context.output.Write(context.global.json ? RunJsonLine(run) : "cancelling run " + TerminalText(run.id()) + "\n");
  return OkStatus();
}

Status RunVerb(const PinArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::Run run, args.pin ? client->PinRun(args.run) : client->UnpinRun(args.run));
  std::string done = (args.pin ? "pinned run " : "unpinned run ") + TerminalText(run.id()) + "\n";
  context.output.Write(context.global.json ? RunJsonLine(run) : done);
  return OkStatus();
}

Status RunVerb(const DeleteArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  Output& output = context.output;
  Status first_failure;
  // Reports each failure but the first, which the caller reports.
  auto fail = [&](const Status& status) {
    if (first_failure.ok()) {
      first_failure = status;
    } else {
      output.ReportError(status, context.global.json);
    }
  };

  // All names first: `delete @last @last~1` means the last two, and @last moves with each delete.
  std::vector<std::string> ids;
  for (const std::string& name : args.runs) {
    Result<v1::Run> run = FindRun(*client, name, "delete run");
    if (!run.ok()) {
      fail(run.status());
    } else if (std::find(ids.begin(), ids.end(), run->id()) == ids.end()) {
      ids.push_back(run->id());
    }
  }
  std::vector<std::string> deleted;
  for (const std::string& id : ids) {
    Result<std::string> gone = client->DeleteRun(id);
    if (!gone.ok()) {
      fail(gone.status());
      continue;
    }
    deleted.push_back(*gone);
    if (!context.global.json) output.Write("deleted run " + TerminalText(*gone) + "\n");
  }
  if (context.global.json) {
    output.Write(JsonLine("kprof.deleted.v1", [&](JsonWriter& json) {
      json.Key("deleted").BeginArray();
      for (const std::string& id : deleted) json.String(id);
      json.EndArray();
    }));
  }
  return first_failure;
}

namespace {

// The exit code, or in a word why there is none.
std::string ExitCell(const v1::Run& run) {
  const bool failed_otherwise = run.has_error() && run.has_exit_code() && run.exit_code() == 0;  // its check, say
  if (run.has_exit_code() && !failed_otherwise) return std::to_string(run.exit_code());
  if (run.has_error()) return run.error().code();
  return ExitText(run);
}

template <typename Take>
Status ForEachRun(KprofClient& client, const RunsArgs& args, const Take& take) {
  v1::ListRunsRequest request;
  request.mutable_labels()->insert(args.labels.begin(), args.labels.end());
  for (const std::string& tool : args.tools) request.add_tools(tool);
  for (v1::RunState state : args.states) request.add_states(state);
  return ForEachListed(
      request, args.limit, [&](const auto& page) { return client.ListRuns(page); },
      [](const v1::ListRunsResponse& page) -> const auto& { return page.runs(); }, take);
}

Status WriteJson(KprofClient& client, const RunsArgs& args, Output& output) {
  return WriteJsonList(
      output, "kprof.runs.v1", "runs", [&](const auto& take) { return ForEachRun(client, args, take); },
      [](JsonWriter& json, const v1::Run& run) { WriteRun(json, run); });
}

Status WriteTable(KprofClient& client, const RunsArgs& args, Output& output) {
  Table table({{"ID"},
               {"STATE"},
               {"TOOL"},
               {"DEVICE", Align::kLeft, Cut::kAtEnd},
               {"AGE", Align::kRight},
               {"DURATION", Align::kRight},
               {"EXIT", Align::kRight},
               {"COMMAND"}},
              output);
  const int64_t now_ns = NowUnixNs();
  RETURN_IF_ERROR(ForEachRun(client, args, [&](const v1::Run& run) {
    std::string duration = run.has_started_unix_ns() ? FormatDuration(DurationNs(run, now_ns)) : "";
    table.AddStyledRow({{run.id()},
                        {RunStateName(run.state()), StyleOf(run.state())},
                        {run.tool()},
                        {DevicesOf(run)},
                        {FormatAge(now_ns - run.queued_unix_ns())},
                        {duration},
                        {ExitCell(run)},
                        {CommandOf(run)}});
    return !output.broken();
  }));
  table.Finish();
  return OkStatus();
}

}  // namespace

Status RunVerb(const RunsArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  return context.global.json ? WriteJson(*client, args, context.output) : WriteTable(*client, args, context.output);
}

}  // namespace kprof::cli
