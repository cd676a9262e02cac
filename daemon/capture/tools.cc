#include "daemon/capture/tools.h"

#include <charconv>
#include <cstdlib>
#include <optional>

#include "daemon/launch/given/json_text.h"
#include "storage/base/readable_text.h"

namespace kprof {

// A tool more is a file more, and its two lines here.
extern const Tool kCommandTool;
extern const Tool kEventTool;
extern const Tool kAnnotationTool;
extern const Tool kNcuTool;
extern const Tool kNsysTool;
extern const Tool kNeuronTool;
extern const Tool kNeuronSystemTool;

namespace {

const Tool* const kTools[] = {
    &kCommandTool, &kEventTool, &kAnnotationTool, &kNcuTool, &kNsysTool, &kNeuronTool, &kNeuronSystemTool,
};

constexpr ToolOption kParams{
    .name = kParamsOption, .type = ToolOptionType::kJson, .usual = "", .meaning = "the parameters of what is measured"};

constexpr size_t kShownBytes = 80;

const ToolOption* FindOption(const Tool& tool, std::string_view name) {
  for (const ToolOption& option : tool.options) {
    if (option.name == name) return &option;
  }
  return name == kParamsOption ? &kParams : nullptr;
}

// In milliseconds; none: it is no duration.
std::optional<int64_t> DurationMs(std::string_view text) {
  constexpr int64_t kMost = int64_t{30} * 24 * 3600 * 1000;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const int64_t factor = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : unit == "h" ? 3'600'000 : 0;
  if (error != std::errc() || factor == 0 || number <= 0 || number > kMost / factor) return std::nullopt;
  return number * factor;
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
    case ToolOptionType::kDuration:
      return DurationMs(value) ? "" : "is no duration of 1ms to 30 days, such as 500ms, 10s, 5m or 2h";
    case ToolOptionType::kJson:
      return value.empty() ? "is empty" : "";
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

int64_t ToolOptions::Number(std::string_view name) const {
  const std::string_view text = (*this)[name];
  if (const std::optional<int64_t> duration = DurationMs(text)) return *duration;
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
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

std::string JsonArtifactName(std::string_view option) {
  return std::string(option) + ".json";
}

std::vector<std::pair<std::string, std::string>> JsonArtifacts(const Tool& tool,
                                                               const std::vector<std::string>& given) {
  std::vector<std::pair<std::string, std::string>> artifacts;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    const ToolOption* option = FindOption(tool, text.substr(0, equals));
    if (option == nullptr || equals == std::string::npos || option->type != ToolOptionType::kJson) continue;
    artifacts.emplace_back(JsonArtifactName(option->name), text.substr(equals + 1));
  }
  return artifacts;
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
    if (option->type == ToolOptionType::kJson) {
      ASSIGN_OR_RETURN(const GivenJson json, ReadJson(value, "--" + name));
      if (json.kind != GivenJson::Kind::kObject && json.kind != GivenJson::Kind::kList) {
        return Fail(ErrorCode::kUsage, "read --" + name, "it is one plain value", "write an object of JSON: {...}");
      }
    }
    options.Set(name, value);
  }
  for (const ToolOption& option : tool.options) {
    if (options[option.name].empty() && !option.usual.empty()) options.Set(option.name, option.usual);
  }
  return options;
}

std::vector<std::string> WordsOf(const Tool& tool, const std::vector<std::string>& given) {
  std::vector<std::string> words = {std::string(tool.name)};
  for (const std::string& text : given) {
    const size_t equals = std::min(text.find('='), text.size());
    const ToolOption* option = FindOption(tool, text.substr(0, equals));
    if (option == nullptr || option->type == ToolOptionType::kJson || equals == text.size()) continue;
    const std::string value = text.substr(equals + 1);
    const bool is_switch = option->type == ToolOptionType::kSwitch;
    if (!option->is_positional) {
      words.push_back("--" + std::string(option->name) + (is_switch && value != "true" ? "=" + value : ""));
    }
    if (!is_switch) words.push_back(value);
  }
  return words;
}

Status CheckToolRequest(const Tool& tool, const std::vector<std::string>& argv,
                        const std::vector<std::string>& options) {
  ASSIGN_OR_RETURN(const ToolOptions read, ReadToolOptions(tool, options));
  if (tool.check != nullptr) RETURN_IF_ERROR(tool.check(read, !argv.empty()));
  if (tool.needs.needs_command && (argv.empty() || argv[0].empty())) {
    return Fail(ErrorCode::kUsage, "capture " + std::string(tool.name), "no command was given", "put it after --");
  }
  return OkStatus();
}

}  // namespace kprof
