#include "client/cli/verbs/tool_options.h"

#include <memory>

#include "client/cli/grammar/verb_set.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/table.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

const char* TypeName(v1::Tool::Option::Type type) {
  switch (type) {
    case v1::Tool::Option::TYPE_INTEGER:
      return "integer";
    case v1::Tool::Option::TYPE_NUMBER:
      return "number";
    case v1::Tool::Option::TYPE_SWITCH:
      return "switch";
    default:
      return "text";
  }
}

const v1::Tool* FindTool(const v1::ListToolsResponse& tools, const std::string& name) {
  for (const v1::Tool& tool : tools.tools()) {
    if (tool.name() == name) return &tool;
  }
  return nullptr;
}

const v1::Tool::Option* FindOption(const v1::Tool& tool, const std::string& name) {
  for (const v1::Tool::Option& option : tool.options()) {
    if (option.name() == name) return &option;
  }
  return nullptr;
}

void WriteTool(JsonWriter& json, const v1::Tool& tool) {
  json.BeginObject().Key("name").String(tool.name()).Key("summary").String(tool.summary());
  json.Key("clocks").String(tool.clocks()).Key("exclusive").Bool(tool.exclusive());
  json.Key("options").BeginArray();
  for (const v1::Tool::Option& option : tool.options()) {
    json.BeginObject().Key("name").String(option.name()).Key("type").String(TypeName(option.type()));
    json.Key("default").StringOrNull(option.default_value()).Key("meaning").String(option.meaning()).EndObject();
  }
  json.EndArray().Key("outputs").BeginArray();
  for (const v1::Tool::Output& output : tool.outputs()) {
    json.BeginObject().Key("glob").String(output.glob()).Key("reader").StringOrNull(output.reader());
    json.Key("required").Bool(output.required()).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

Result<std::vector<v1::ToolOption>> ReadToolWords(const v1::ListToolsResponse& tools, const std::string& tool,
                                                  const std::vector<std::string>& words) {
  const v1::Tool* found = FindTool(tools, tool);
  if (found == nullptr) {
    std::string names;
    for (const v1::Tool& one : tools.tools()) names += (names.empty() ? "" : ", ") + one.name();
    return Usage("kprofd has no tool '" + ReadableText(tool) + "'", "use one of: " + names);
  }
  std::vector<v1::ToolOption> options;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string spelling = words[i].substr(0, equals);
    const v1::Tool::Option* known = spelling.starts_with("--") ? FindOption(*found, spelling.substr(2)) : nullptr;
    if (known == nullptr) {
      return Usage("'" + ReadableText(spelling) + "' is no option of the tool " + tool,
                   "see 'kprofctl capture --list'; the command follows after --");
    }
    v1::ToolOption& option = options.emplace_back();
    option.set_name(known->name());
    if (equals != std::string::npos) {
      option.set_value(words[i].substr(equals + 1));
    } else if (known->type() == v1::Tool::Option::TYPE_SWITCH) {
      option.set_value("true");
    } else if (i + 1 < words.size()) {
      option.set_value(words[++i]);
    } else {
      return Usage(spelling + " has no value", "write it like " + spelling + " VALUE");
    }
  }
  return options;
}

Status PrintTools(const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListToolsResponse tools, client->ListTools());
  if (context.global.json) {
    context.output.Write(JsonLine("kprof.tools.v1", [&](JsonWriter& json) {
      json.Key("tools").BeginArray();
      for (const v1::Tool& tool : tools.tools()) WriteTool(json, tool);
      json.EndArray();
    }));
    return OkStatus();
  }
  Table table({{"TOOL"}, {"OPTION"}, {"TYPE"}, {"DEFAULT"}, {"MEANING"}}, context.output.ResultWidth(),
              [&](std::string_view line) { context.output.Write(line); });
  for (const v1::Tool& tool : tools.tools()) {
    table.AddRow({tool.name(), "", "", "", tool.summary()});
    for (const v1::Tool::Option& option : tool.options()) {
      table.AddRow({"", "--" + option.name(), TypeName(option.type()), option.default_value(), option.meaning()});
    }
  }
  table.Finish();
  return OkStatus();
}

}  // namespace kprof::cli
