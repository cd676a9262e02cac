#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "client/cli/find_daemon.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/text/text_style.h"
#include "client/cli/verbs/verbs.h"

namespace kprof::cli {
namespace {

std::string LevelName(v1::Diagnosis::Level level) {
  switch (level) {
    case v1::Diagnosis::LEVEL_OK:
      return "ok";
    case v1::Diagnosis::LEVEL_WARNING:
      return "warning";
    case v1::Diagnosis::LEVEL_PROBLEM:
      return "problem";
    default:
      return "unknown";
  }
}

constexpr size_t kLevelWidth = 9;

TextStyle LevelStyle(v1::Diagnosis::Level level) {
  if (level == v1::Diagnosis::LEVEL_PROBLEM) return TextStyle::kTrouble;
  return level == v1::Diagnosis::LEVEL_WARNING ? TextStyle::kWarning : TextStyle::kPlain;
}

// The path of a program in this shell's PATH, absolute folders alone; empty: none.
std::string InOwnPath(const std::string& program) {
  const std::string folders = GetProcessVariable("PATH").value_or("");
  for (size_t begin = 0; begin < folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    std::string path = folders.substr(begin, end - begin) + "/" + program;
    struct stat about {};
    if (path[0] == '/' && ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
        ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
    begin = end + 1;
  }
  return "";
}

// kprofd looks for tools in its own PATH, and does not run what lies in a client's. A capture has its caller's PATH.
void LookForToolsHere(v1::DiagnoseResponse& response) {
  constexpr std::string_view kToolCheck = "tool_";
  for (v1::Diagnosis& diagnosis : *response.mutable_diagnoses()) {
    if (!diagnosis.check().starts_with(kToolCheck)) continue;
    const std::string program = diagnosis.check().substr(kToolCheck.size());
    if (diagnosis.message().find("no " + program) == std::string::npos) continue;  // it is there, and too old
    const std::string path = InOwnPath(program);
    if (path.empty()) continue;
    diagnosis.set_level(v1::Diagnosis::LEVEL_OK);
    diagnosis.set_message("kprofd does not see " + program + "; captures from this shell do: " + path);
    diagnosis.clear_remedy();
  }
}

}  // namespace

Status RunVerb(const DoctorArgs&, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::DiagnoseResponse response, client->Diagnose());
  if (!context.on_another_node) LookForToolsHere(response);
  Output& output = context.output;
  if (context.global.json) {
    output.Write(JsonLine("kprof.doctor.v1", [&](JsonWriter& json) {
      json.Key("diagnoses").BeginArray();
      for (const v1::Diagnosis& diagnosis : response.diagnoses()) {
        json.BeginObject().Key("check").String(diagnosis.check()).Key("level").String(LevelName(diagnosis.level()));
        json.Key("message").String(diagnosis.message()).Key("remedy").StringOrNull(diagnosis.remedy()).EndObject();
      }
      json.EndArray();
    }));
    return OkStatus();
  }
  for (const v1::Diagnosis& diagnosis : response.diagnoses()) {
    const std::string level = LevelName(diagnosis.level());
    std::string line = Styled(level, LevelStyle(diagnosis.level()), output.result_has_colours());
    line.append(std::max<size_t>(level.size() + 1, kLevelWidth) - level.size(), ' ');
    line += TerminalText(diagnosis.check() + ": " + diagnosis.message()) + "\n";
    if (!diagnosis.remedy().empty()) line += "         remedy: " + TerminalText(diagnosis.remedy()) + "\n";
    output.Write(line);
  }
  return OkStatus();
}

}  // namespace kprof::cli
