#include "client/cli/verbs/profile_tree.h"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/local_file.h"
#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/received_report.h"
#include "storage/crypto/sha256.h"

namespace kprof::cli {
namespace {

constexpr const char* kTree = "profiles";
constexpr const char* kTreeBelow = "/out/profiles";

// A path that the node says, step by step: no way out of the folder, and no hidden file in it.
bool IsSafePath(const std::string& path) {
  size_t at = 0;
  while (at <= path.size()) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (end == at || path[at] == '.') return false;
    at = end + 1;
  }
  return TerminalText(path) == path;
}

Status CheckPath(const std::string& path) {
  if (IsSafePath(path)) return OkStatus();
  return Fail(ErrorCode::kInternal, "export it", "the node calls a folder '" + TerminalText(path) + "'",
              "see that both are of one version");
}

// Also a link that leads nowhere.
bool IsTaken(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0;
}

// Makes the folder and those that lead to it. `is_new` false: it was there.
Status MakeFolders(const std::string& path, bool& is_new) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    is_new = ::mkdir(folder.c_str(), 0777) == 0;
    if (!is_new && (errno != EEXIST || !IsFolder(folder))) return FailErrno(errno, "make the folder " + folder);
    if (at == std::string::npos) return OkStatus();
  }
}

class ProfileFolderWriter {
 public:
  ProfileFolderWriter(KprofClient& client, std::string folder, const VerbContext& context)
      : client_(client), folder_(std::move(folder)), context_(context) {}

  Status Write(const std::string& name, const std::string& bytes) {
    ASSIGN_OR_RETURN(FileTarget target, FileTarget::Open(folder_ + "/" + name, 0666, context_.output));
    RETURN_IF_ERROR(target.Write(bytes));
    Note(name, static_cast<int64_t>(bytes.size()));
    sums_[name] = Sha256Of(bytes);
    return target.Commit();
  }

  Status Download(const std::string& run, const v1::Artifact& artifact) {
    const auto same = sums_.find(artifact.name());  // a chart that the report has, too
    if (same != sums_.end() && same->second == artifact.sha256()) return OkStatus();
    ASSIGN_OR_RETURN(const std::string place, FindPlace(artifact));
    ASSIGN_OR_RETURN(FileTarget target, FileTarget::Open(folder_ + "/" + place, 0666, context_.output));
    v1::DownloadArtifactRequest request;
    request.set_id(run);
    request.set_name(artifact.name());
    CheckedDownload download(target);
    RETURN_IF_ERROR(client_.DownloadArtifact(
        request, [&](const v1::DownloadArtifactResponse& response) { return download.Add(response); }));
    RETURN_IF_ERROR(download.Finish("export artifact " + artifact.name()).status());
    Note(place, download.size_bytes());
    return target.Commit();
  }

  void Tell() const {
    if (!context_.global.json) return context_.output.Confirm(text_);
    context_.output.Confirm(JsonLine("kprof.export.v1", [&](JsonWriter& json) {
      json.Key("format").String(kTree).Key("folder").String(folder_).Key("files").BeginArray();
      for (const auto& [name, size] : files_) {
        json.BeginObject().Key("file").String(folder_ + "/" + name).Key("size_bytes").Int(size).EndObject();
      }
      json.EndArray();
    }));
  }

 private:
  // The path at which the command left it, where that is safe and free; else its name, with a number where that is not.
  Result<std::string> FindPlace(const v1::Artifact& artifact) const {
    if (IsSafePath(artifact.path())) {
      ASSIGN_OR_RETURN(const bool leads_there, MakeFoldersTo(artifact.path()));
      if (leads_there && !IsTaken(folder_ + "/" + artifact.path())) return artifact.path();
    }
    std::string place = artifact.name();
    for (int i = 2; IsTaken(folder_ + "/" + place); ++i) place = std::to_string(i) + "_" + artifact.name();
    return place;
  }

  // Makes the folders that lead to `path` in ours. False: a file or a link is in the way; no link is followed.
  Result<bool> MakeFoldersTo(const std::string& path) const {
    for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      const std::string folder = folder_ + "/" + path.substr(0, at);
      if (::mkdir(folder.c_str(), 0777) == 0) continue;
      struct stat about {};
      if (errno != EEXIST || ::lstat(folder.c_str(), &about) != 0) return FailErrno(errno, "make the folder " + folder);
      if (!S_ISDIR(about.st_mode)) return false;
    }
    return true;
  }

  void Note(const std::string& name, int64_t size_bytes) {
    files_.emplace_back(name, size_bytes);
    text_ += TerminalText(folder_ + "/" + name) + "  " + FormatBytes(size_bytes) + "\n";
  }

  KprofClient& client_;
  const std::string folder_;
  const VerbContext& context_;
  std::vector<std::pair<std::string, int64_t>> files_;
  std::map<std::string, std::string> sums_;  // of the report's files
  std::string text_;
};

}  // namespace

Status ExportProfile(const ExportArgs& args, const VerbContext& context) {
  const std::string act = "export run " + args.run;
  if (args.to == "-") return Fail(ErrorCode::kUsage, act, "a tree of profiles needs a folder", "name one with -o");
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::GetReportRequest request;
  request.set_run(args.run);
  request.set_timeout_ms(kWholeReportTimeoutMs);
  ReceivedReport report;
  RETURN_IF_ERROR(
      client->GetReport(request, [&report](const v1::GetReportResponse& message) { return report.Add(message); }));
  const std::string run = report.header().run_id();
  RETURN_IF_ERROR(CheckPath(report.header().folder()));
  std::string root = args.to;
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  if (!root.ends_with(kTree)) root += kTreeBelow;
  const std::string folder = root + "/" + report.header().folder();
  bool is_new = false;
  RETURN_IF_ERROR(MakeFolders(folder, is_new));
  if (!is_new) {
    return Fail(ErrorCode::kUsage, act, "the folder " + folder + " is there already",
                "remove it, or name another with -o");
  }
  ASSIGN_OR_RETURN(const v1::ListArtifactsResponse artifacts, client->ListArtifacts(run));
  ProfileFolderWriter writer(*client, folder, context);
  for (const ReceivedFile& file : report.files()) {
    RETURN_IF_ERROR(CheckPath(file.name));
    RETURN_IF_ERROR(writer.Write(file.name, file.bytes));
  }
  for (const v1::Artifact& artifact : artifacts.artifacts()) {
    RETURN_IF_ERROR(CheckPath(artifact.name()));
    RETURN_IF_ERROR(writer.Download(run, artifact));
  }
  writer.Tell();
  return OkStatus();
}

}  // namespace kprof::cli
