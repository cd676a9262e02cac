#include "client/cli/local_file.h"
#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/waiting/interrupts.h"

namespace kprof::cli {
namespace {

constexpr size_t kArtifactChunkBytes = 256 << 10;

void WriteMembers(JsonWriter& json, const v1::Artifact& artifact) {
  json.Key("name").String(artifact.name()).Key("size_bytes").Int(artifact.size_bytes());
  json.Key("sha256").String(artifact.sha256()).Key("path").StringOrNull(artifact.path());
}

std::string ArtifactJsonLine(const v1::Artifact& artifact) {
  return JsonLine("kprof.artifact.v1", [&](JsonWriter& json) { WriteMembers(json, artifact); });
}

}  // namespace

Status RunVerb(const ListArtifactsArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::ListArtifactsResponse list, client->ListArtifacts(args.run));
  Output& output = context.output;
  if (context.global.json) {
    output.Write(JsonLine("kprof.artifacts.v1", [&](JsonWriter& json) {
      json.Key("artifacts").BeginArray();
      for (const v1::Artifact& artifact : list.artifacts()) {
        json.BeginObject();
        WriteMembers(json, artifact);
        json.EndObject();
      }
      json.EndArray();
    }));
    return OkStatus();
  }
  Table table({{"SIZE", Align::kRight},
               {"SHA256", Align::kLeft, Cut::kAtEnd},
               {"NAME", Align::kLeft, Cut::kInMiddle},
               {"PATH", Align::kLeft, Cut::kInMiddle}},
              output);
  for (const v1::Artifact& artifact : list.artifacts()) {
    table.AddRow({FormatBytes(artifact.size_bytes()), artifact.sha256(), artifact.name(), artifact.path()});
  }
  table.Finish();
  return OkStatus();
}

Status RunVerb(const GetArtifactArgs& args, const VerbContext& context) {
  const std::string what = "get artifact " + args.name + " of run " + args.run;
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  const std::string to = IsFolder(args.to) ? args.to + "/" + args.name : args.to;
  InterruptibleCall call(!FileTarget::IsDirect(to));
  ASSIGN_OR_RETURN(FileTarget target, FileTarget::Open(to, 0666, context.output));
  v1::DownloadArtifactRequest request;
  request.set_id(args.run);
  request.set_name(args.name);
  v1::Artifact artifact;
  CheckedDownload download(target);
  auto on_message = [&](const v1::DownloadArtifactResponse& response) {
    if (response.has_artifact()) artifact = response.artifact();
    return download.Add(response);
  };
  Status status = call.Ended(client->DownloadArtifact(request, on_message, call.stop()));
  if (args.to == "-" && context.output.broken()) return OkStatus();  // Flush tells whether that is a failure
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(std::string sha256, download.Finish(what));
  if (sha256 != artifact.sha256()) {
    return Fail(ErrorCode::kStorageBroken, what, "its file was damaged on the node's disk", "check the disk");
  }
  RETURN_IF_ERROR(target.Commit());
  if (args.to == "-") return OkStatus();
  context.output.Confirm(context.global.json ? ArtifactJsonLine(artifact)
                                             : TerminalText(to) + "  " + FormatBytes(artifact.size_bytes()) + "\n");
  return OkStatus();
}

Status RunVerb(const PutArtifactArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(FileSource source, FileSource::Open(args.from));
  v1::UploadArtifactRequest::Header header;
  header.set_id(args.run);
  header.set_name(args.name);
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  Result<v1::Artifact> artifact = client->UploadArtifact(header, [&] { return source.Read(kArtifactChunkBytes); });
  if (!artifact.ok()) return artifact.status();
  context.output.Write(context.global.json ? ArtifactJsonLine(*artifact)
                                           : "stored " + TerminalText(artifact->name()) + "  " +
                                                 FormatBytes(artifact->size_bytes()) + "\n");
  return OkStatus();
}

}  // namespace kprof::cli
