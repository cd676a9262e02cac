#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/table.h"
#include "client/cli/verbs/paged_list.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/run_json.h"
#include "client/cli/views/run_outcome.h"
#include "client/cli/views/run_text.h"

namespace kprof::cli {
namespace {

// The exit code, or in a word why there is none.
std::string ExitCell(const v1::Run& run) {
  if (run.has_exit_code()) return std::to_string(run.exit_code());
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
