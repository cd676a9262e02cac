#include <algorithm>

#include "client/cli/text/json_writer.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/waiting/find_run.h"

namespace kprof::cli {

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

}  // namespace kprof::cli
