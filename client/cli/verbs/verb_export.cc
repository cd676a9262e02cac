#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "client/cli/local_file.h"
#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/profile_tree.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cli/waiting/progress.h"

namespace kprof::cli {
namespace {

struct WrittenFile {
  std::string path;
  int64_t size_bytes = 0;
  int64_t rows = 0;
  int32_t parts = 0;  // of the whole trace
  std::string sha256;
};

// A folder's file is called as the node says, wherever that is: a name, and no way out of the folder.
Status CheckName(const std::string& name, const std::string& what) {
  if (!name.empty() && name.front() != '.' && name.find('/') == std::string::npos) return OkStatus();
  return Fail(ErrorCode::kInternal, what, "the node calls it '" + TerminalText(name) + "', which is no file's name",
              "name a file with -o");
}

// One file as it comes.
class ExportedFile {
 public:
  ExportedFile(const ExportArgs& args, const VerbContext& context, const std::string& what, bool into_folder)
      : args_(args),
        output_(context.output),
        what_(what),
        into_folder_(into_folder),
        line_(context.output, ProgressAllowed(context.output)) {}

  Status Add(const v1::ExportRunResponse& response) {
    if (response.has_header()) return Begin(response.header());
    if (!download_) return Fail(ErrorCode::kInternal, what_, "the answer does not begin with what it is", "try again");
    RETURN_IF_ERROR(download_->Add(response));
    std::string text = "exporting  " + FormatBytes(download_->size_bytes());
    if (file_.rows > 0) text += "  " + std::to_string(response.rows() * 100 / file_.rows) + " %";
    if (response.has_data()) line_.Show(text);
    return OkStatus();
  }

  Result<WrittenFile> Finish() {
    line_.Clear();
    if (!download_) return Fail(ErrorCode::kInternal, what_, "nothing came", "try again");
    ASSIGN_OR_RETURN(file_.sha256, download_->Finish(what_));
    file_.size_bytes = download_->size_bytes();
    RETURN_IF_ERROR(target_->Commit());
    return std::move(file_);
  }

 private:
  Status Begin(const v1::ExportRunResponse::Header& header) {
    if (download_) return Fail(ErrorCode::kInternal, what_, "it begins twice", "try again");
    if (into_folder_) RETURN_IF_ERROR(CheckName(header.file_name(), what_));
    file_.path = into_folder_ ? args_.to + (args_.to.ends_with('/') ? "" : "/") + header.file_name() : args_.to;
    file_.rows = header.rows();
    file_.parts = header.parts();
    ASSIGN_OR_RETURN(FileTarget target, FileTarget::Open(file_.path, 0666, output_));
    target_.emplace(std::move(target));
    download_.emplace(*target_);
    return OkStatus();
  }

  const ExportArgs& args_;
  Output& output_;
  const std::string& what_;
  const bool into_folder_;
  ProgressLine line_;
  WrittenFile file_;
  std::optional<FileTarget> target_;
  std::optional<CheckedDownload> download_;
};

// A name with a slash at its end is a folder's: it is made where it is not there.
Status MakeNamedFolder(const std::string& path) {
  if (!path.ends_with('/') || ::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return OkStatus();
  return FailErrno(errno, "make the folder " + TerminalText(path));
}

void Tell(const std::vector<WrittenFile>& files, const ExportArgs& args, const VerbContext& context) {
  if (!context.global.json) {
    for (const WrittenFile& file : files) {
      context.output.Confirm(TerminalText(file.path) + "  " + FormatBytes(file.size_bytes) + "\n");
    }
    return;
  }
  context.output.Confirm(JsonLine("kprof.export.v1", [&](JsonWriter& json) {
    json.Key("format").String(args.format).Key("files").BeginArray();
    for (const WrittenFile& file : files) {
      json.BeginObject().Key("file").String(file.path).Key("size_bytes").Int(file.size_bytes);
      json.Key("rows").Int(file.rows).Key("sha256").String(file.sha256).EndObject();
    }
    json.EndArray();
  }));
}

}  // namespace

Status RunVerb(const ExportArgs& args, const VerbContext& context) {
  if (args.format == "profiles") return ExportProfile(args, context);
  const std::string what = "export run " + args.run;
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  RETURN_IF_ERROR(MakeNamedFolder(args.to));
  const bool into_folder = IsFolder(args.to);
  InterruptibleCall call(!FileTarget::IsDirect(args.to));
  v1::ExportRunRequest request;
  request.set_id(args.run);
  request.set_format(args.format);
  if (args.rank) request.set_rank(*args.rank);
  for (const auto& [from, to] : args.path_maps) {
    v1::ExportRunRequest::PathMap& map = *request.add_path_maps();
    map.set_from(from);
    map.set_to(to);
  }
  const bool each_part = into_folder && !args.rank;
  std::vector<WrittenFile> files;
  std::vector<std::string> notes;
  int32_t parts = 1;
  for (int32_t part = 0; part < parts; ++part) {
    if (each_part) request.set_part(part);
    ExportedFile file(args, context, what, into_folder);
    auto on_message = [&](const v1::ExportRunResponse& response) {
      if (response.has_header()) request.set_id(response.header().run_id());  // @last moves on
      notes.insert(notes.end(), response.notes().begin(), response.notes().end());
      return file.Add(response);
    };
    Status status = call.Ended(client->ExportRun(request, on_message, call.stop()));
    if (args.to == "-" && context.output.broken()) return OkStatus();  // Flush tells whether that is a failure
    RETURN_IF_ERROR(status);
    ASSIGN_OR_RETURN(WrittenFile written, file.Finish());
    if (each_part) parts = written.parts;
    files.push_back(std::move(written));
  }
  if (args.to != "-") Tell(files, args, context);
  for (const std::string& note : notes) context.output.Note(note, TextStyle::kWarning);
  const bool is_empty = std::all_of(files.begin(), files.end(), [](const WrittenFile& file) { return file.rows == 0; });
  if (is_empty) {
    context.output.Note("run " + request.id() +
                        " has no timeline, so there are no rows; if it is a report of kernels, " +
                        "'kprofctl analyze kernels " + request.id() + " --format csv' prints them");
  }
  return OkStatus();
}

}  // namespace kprof::cli
