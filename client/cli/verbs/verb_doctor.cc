#include <algorithm>
#include <string>

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

}  // namespace

Status RunVerb(const DoctorArgs&, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::DiagnoseResponse response, client->Diagnose());
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
