#include "client/cli/json_writer.h"
#include "client/cli/local_file.h"
#include "client/cli/sizes.h"
#include "client/cli/terminal_text.h"
#include "client/cli/verbs.h"
#include "storage/base/sha256.h"

namespace kprof::cli {

Status RunVerb(const BackupArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  // It holds the command lines of everybody's runs: for its owner only.
  ASSIGN_OR_RETURN(FileTarget target, FileTarget::Open(args.to, 0600, context.output));
  Sha256 received;
  std::string sent_sha256;
  int64_t size_bytes = 0;
  Status status = client->BackUpCatalog([&](const v1::BackUpCatalogResponse& response) {
    if (response.has_sha256()) sent_sha256 = response.sha256();
    if (!response.has_data()) return OkStatus();
    received.Add(response.data());
    size_bytes += static_cast<int64_t>(response.data().size());
    return target.Write(response.data());
  });
  if (args.to == "-" && context.output.broken()) return OkStatus();  // Flush tells whether that is a failure
  RETURN_IF_ERROR(status);
  std::string sha256 = received.Finish();
  if (sha256 != sent_sha256) {
    return Fail(ErrorCode::kInternal, "back up the catalog", "what arrived is not what was sent", "try again");
  }
  RETURN_IF_ERROR(target.Commit());
  if (args.to == "-") return OkStatus();
  if (!context.global.json) {
    context.output.Write(TerminalText(args.to) + "  " + FormatBytes(size_bytes) + "\n");
    return OkStatus();
  }
  context.output.Write(JsonLine("kprof.backup.v1", [&](JsonWriter& json) {
    json.Key("file").String(args.to).Key("size_bytes").Int(size_bytes).Key("sha256").String(sha256);
  }));
  return OkStatus();
}

}  // namespace kprof::cli
