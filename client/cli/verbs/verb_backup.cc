#include "client/cli/local_file.h"
#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/waiting/interrupts.h"

namespace kprof::cli {

Status RunVerb(const BackupArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  InterruptibleCall call(!FileTarget::IsDirect(args.to));
  // It holds the command lines of everybody's runs: for its owner only.
  ASSIGN_OR_RETURN(FileTarget target, FileTarget::Open(args.to, 0600, context.output));
  CheckedDownload download(target);
  auto on_message = [&](const v1::BackUpCatalogResponse& response) { return download.Add(response); };
  Status status = call.Ended(client->BackUpCatalog(on_message, call.stop()));
  if (args.to == "-" && context.output.broken()) return OkStatus();  // Flush tells whether that is a failure
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(std::string sha256, download.Finish("back up the catalog"));
  RETURN_IF_ERROR(target.Commit());
  if (args.to == "-") return OkStatus();
  if (!context.global.json) {
    context.output.Confirm(TerminalText(args.to) + "  " + FormatBytes(download.size_bytes()) + "\n");
    return OkStatus();
  }
  context.output.Confirm(JsonLine("kprof.backup.v1", [&](JsonWriter& json) {
    json.Key("file").String(args.to).Key("size_bytes").Int(download.size_bytes()).Key("sha256").String(sha256);
  }));
  return OkStatus();
}

}  // namespace kprof::cli
