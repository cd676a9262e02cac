#include "daemon/capture/tools.h"

#include <charconv>
#include <cstdlib>

#include "storage/base/readable_text.h"

namespace kprof {

// A tool more is a file more, and its two lines here.
extern const Tool kCommandTool;

namespace {

const Tool* const kTools[] = {
    &kCommandTool,
};

constexpr size_t kShownBytes = 80;

const ToolOption* FindOption(const Tool& tool, std::string_view name) {
  for (const ToolOption& option : tool.options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string OptionNames(const Tool& tool) {
  std::string names;
  for (const ToolOption& option : tool.options) names += (names.empty() ? "--" : ", --") + std::string(option.name);
  return names;
}

// Empty: it is one.
std::string_view WhyNoValue(ToolOptionType type, const std::string& value) {
  switch (type) {
    case ToolOptionType::kText:
      return value.empty() ? "is empty" : "";
    case ToolOptionType::kSwitch:
      return value == "true" || value == "false" ? "" : "is neither true nor false";
    case ToolOptionType::kInteger: {
      int64_t number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      return error == std::errc() && end == value.data() + value.size() ? "" : "is no whole number";
    }
    case ToolOptionType::kNumber: {
      double number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      return error == std::errc() && end == value.data() + value.size() ? "" : "is no number";
    }
  }
  return "";
}

}  // namespace

std::string_view ToolOptions::operator[](std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return {};
}

std::span<const Tool* const> AllTools() {
  return kTools;
}

const Tool* FindTool(std::string_view name) {
  for (const Tool* tool : kTools) {
    if (tool->name == name) return tool;
  }
  return nullptr;
}

std::string ToolNames() {
  std::string names;
  for (const Tool* tool : kTools) names += (names.empty() ? "" : ", ") + std::string(tool->name);
  return names;
}

Result<ToolOptions> ReadToolOptions(const Tool& tool, const std::vector<std::string>& given) {
  const std::string act = "capture " + std::string(tool.name);
  ToolOptions options;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const ToolOption* option = FindOption(tool, name);
    if (option == nullptr || equals == std::string::npos) {
      const std::string names = OptionNames(tool);
      return Fail(ErrorCode::kUsage, act, "the tool has no option '--" + ClippedText(name, kShownBytes) + "'",
                  names.empty() ? "leave it out: this tool has no options of its own" : "use one of: " + names);
    }
    if (!options[name].empty()) {
      return Fail(ErrorCode::kUsage, act, "the option --" + name + " is given twice", "give it once");
    }
    const std::string value = text.substr(equals + 1);
    const std::string_view why = WhyNoValue(option->type, value);
    if (!why.empty()) {
      return Fail(ErrorCode::kUsage, act,
                  "the value of --" + name + ", '" + ClippedText(value, kShownBytes) + "', " + std::string(why),
                  std::string(option->meaning));
    }
    options.Set(name, value);
  }
  for (const ToolOption& option : tool.options) {
    if (options[option.name].empty() && !option.usual.empty()) options.Set(option.name, option.usual);
  }
  return options;
}

Status CheckToolRequest(const Tool& tool, const std::vector<std::string>& argv,
                        const std::vector<std::string>& options) {
  RETURN_IF_ERROR(ReadToolOptions(tool, options).status());
  if (tool.needs.needs_command && (argv.empty() || argv[0].empty())) {
    return Fail(ErrorCode::kUsage, "capture " + std::string(tool.name), "no command was given", "put it after --");
  }
  return OkStatus();
}

}  // namespace kprof
