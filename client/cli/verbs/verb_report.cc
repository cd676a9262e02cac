#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/local_file.h"
#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/received_report.h"
#include "client/cli/verbs/verbs.h"
#include "kprof/v1/analyses.pb.h"

namespace kprof::cli {
namespace {

// The lines as they are, each safe for a terminal.
std::string SafeLines(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    safe += TerminalText(line);
    if (line.size() < text.size()) safe += '\n';
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return safe;
}

Status WriteTo(const std::string& path, const std::string& bytes, Output& output) {
  ASSIGN_OR_RETURN(FileTarget target, FileTarget::Open(path, 0666, output));
  RETURN_IF_ERROR(target.Write(bytes));
  return target.Commit();
}

// A folder gets each file by its name.
Status WriteFolder(const ReceivedReport& report, const ReportArgs& args, const VerbContext& context) {
  for (const ReceivedFile& file : report.files()) {
    if (file.name.empty() || file.name.front() == '.' || file.name.find('/') != std::string::npos) {
      return Fail(ErrorCode::kInternal, "report", "the node calls a file '" + TerminalText(file.name) + "'",
                  "name a file with -o");
    }
    const std::string path = args.to + (args.to.ends_with('/') ? "" : "/") + file.name;
    RETURN_IF_ERROR(WriteTo(path, file.bytes, context.output));
    if (!context.global.json) {
      context.output.Confirm(TerminalText(path) + "  " + FormatBytes(static_cast<int64_t>(file.bytes.size())) + "\n");
    }
  }
  if (!context.global.json) return OkStatus();
  context.output.Confirm(JsonLine("kprof.report_files.v1", [&](JsonWriter& json) {
    json.Key("files").BeginArray();
    for (const ReceivedFile& file : report.files()) {
      json.BeginObject().Key("file").String(args.to + "/" + file.name);
      json.Key("size_bytes").Int(static_cast<int64_t>(file.bytes.size())).EndObject();
    }
    json.EndArray();
  }));
  return OkStatus();
}

}  // namespace

Status RunVerb(const ReportArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::GetReportRequest request;
  request.set_run(args.run);
  request.set_baseline(args.baseline);
  request.set_policy(args.policy);
  request.set_timeout_ms(kWholeReportTimeoutMs);
  // A path that ends so is that of a folder, also where it is not there yet.
  if (args.to.ends_with('/') && ::mkdir(args.to.c_str(), 0777) != 0 && errno != EEXIST) {
    return FailErrno(errno, "make the folder " + args.to);
  }
  const bool into_folder = !args.to.empty() && IsFolder(args.to);
  const bool is_json = args.format == "json" || (args.format.empty() && context.global.json && !args.devlog);
  const bool is_shown = args.to.empty() || args.to == "-";
  if (!args.file.empty()) {
    request.add_files(args.file);
  } else if (!into_folder) {
    request.add_files(is_json ? "report.json" : args.devlog ? "devlog.md" : "report.md");
  }
  const bool has_chart =
      is_shown && !is_json && !args.devlog && args.file.empty() && context.output.result_is_terminal();
  if (has_chart) request.add_files("roofline.txt");
  ReceivedReport report;
  RETURN_IF_ERROR(
      client->GetReport(request, [&report](const v1::GetReportResponse& message) { return report.Add(message); }));
  if (into_folder) return WriteFolder(report, args, context);
  if (report.files().empty()) return Fail(ErrorCode::kInternal, "report", "kprofd sent no file", "try again");
  if (!is_shown) return WriteTo(args.to, report.files().front().bytes, context.output);
  for (const ReceivedFile& file : report.files()) {
    if (&file != &report.files().front()) context.output.Write("\n");
    context.output.Write(context.output.result_is_terminal() ? SafeLines(file.bytes) : file.bytes);
  }
  return OkStatus();
}

}  // namespace kprof::cli
