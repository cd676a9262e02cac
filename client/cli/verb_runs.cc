#include <algorithm>

#include "client/cli/durations.h"
#include "client/cli/error_json.h"
#include "client/cli/run_json.h"
#include "client/cli/run_outcome.h"
#include "client/cli/run_report.h"
#include "client/cli/table.h"
#include "client/cli/verbs.h"

namespace kprof::cli {
namespace {

// Small enough for a first page at once and for messages of bounded size, large enough for few round trips.
constexpr int64_t kPageSize = 200;

// The exit code, or in a word why there is none.
std::string ExitCell(const v1::Run& run) {
  if (run.has_exit_code()) return std::to_string(run.exit_code());
  if (run.has_error()) return run.error().code();
  return ExitText(run);
}

// Calls `take` with up to `limit` runs, newest first, page by page.
template <typename Take>
Status ForEachRun(KprofClient& client, const RunsArgs& args, const Take& take) {
  v1::ListRunsRequest request;
  request.mutable_labels()->insert(args.labels.begin(), args.labels.end());
  for (const std::string& tool : args.tools) request.add_tools(tool);
  for (v1::RunState state : args.states) request.add_states(state);
  int64_t left = args.limit;
  while (left > 0) {
    request.set_page_size(static_cast<int32_t>(std::min(left, kPageSize)));
    ASSIGN_OR_RETURN(v1::ListRunsResponse page, client.ListRuns(request));
    for (const v1::Run& run : page.runs()) {
      if (left-- <= 0) return OkStatus();
      if (!take(run)) return OkStatus();
    }
    if (page.next_page_token().empty()) return OkStatus();
    request.set_page_token(page.next_page_token());
  }
  return OkStatus();
}

Status WriteJson(KprofClient& client, const RunsArgs& args, Output& output) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("schema").String("kprof.runs.v1").Key("runs").BeginArray();
  bool begun = false;
  Status status = ForEachRun(client, args, [&](const v1::Run& run) {
    WriteRun(json, run);
    output.Write(text);
    text.clear();
    begun = true;
    return !output.broken();
  });
  if (!status.ok() && !begun) return status;
  json.EndArray();
  if (!status.ok()) WriteErrorMember(json, status);
  json.EndObject();
  output.Write(text + "\n");
  return status;
}

Status WriteTable(KprofClient& client, const RunsArgs& args, Output& output) {
  Table table({{"ID"},
               {"STATE"},
               {"TOOL"},
               {"DEVICE"},
               {"AGE", Align::kRight},
               {"DURATION", Align::kRight},
               {"EXIT", Align::kRight},
               {"COMMAND"}},
              output.ResultWidth(), [&output](std::string_view line) { output.Write(line); });
  const int64_t now_ns = NowUnixNs();
  RETURN_IF_ERROR(ForEachRun(client, args, [&](const v1::Run& run) {
    std::string duration = run.has_started_unix_ns() ? FormatDuration(DurationNs(run, now_ns)) : "";
    table.AddRow({run.id(), RunStateName(run.state()), run.tool(), DevicesOf(run),
                  FormatAge(now_ns - run.queued_unix_ns()), duration, ExitCell(run), CommandOf(run)});
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
