#include "daemon/ingest/environment_settings.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "daemon/ingest/environment_names.h"
#include "daemon/ingest/kept_environment.h"

namespace kprof {
namespace {

bool IsOfVariable(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsSmall(char c) {
  return c >= 'a' && c <= 'z';
}

bool EndsLine(char c) {
  return c == '\n' || c == '\r' || c == '\0';
}

// What a value without quotes ends at, within a line.
bool EndsWord(char c) {
  constexpr std::string_view kEnds = " \t;|&\"'`<>(){}[],";
  return EndsLine(c) || kEnds.find(c) != kEnds.npos;
}

struct Setting {
  size_t begin = 0;
  size_t equals = 0;
  size_t end = 0;
  bool begins_line = false;
};

// Behind the value that begins at `at`, as a shell takes it.
size_t WordEnd(std::string_view text, size_t at) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    const size_t close = text.find(text[at], at + 1);
    if (close != text.npos) return close + 1;
  }
  while (at < text.size() && !EndsWord(text[at])) ++at;
  return at;
}

std::vector<Setting> SettingsOf(std::string_view text) {
  std::vector<Setting> settings;
  for (size_t equals = text.find('='); equals != text.npos; equals = text.find('=', equals + 1)) {
    const size_t least = settings.empty() ? 0 : settings.back().end;
    if (equals < least) continue;  // of a value
    size_t begin = equals;
    while (begin > least && IsOfVariable(text[begin - 1])) --begin;
    const char before = begin > 0 ? text[begin - 1] : '\n';
    const bool is_compared = equals + 1 < text.size() && text[equals + 1] == '=';
    const bool is_part = IsSmall(before) || before == '-' || before == '.' || before == '/' || before == '$';
    if (is_compared || is_part || !IsVariableName(text.substr(begin, equals - begin))) continue;
    settings.push_back({begin, equals, WordEnd(text, equals + 1), EndsLine(before)});
  }
  return settings;
}

// One to a line, a value goes on to its end, whatever is in it.
void EndAtLines(std::string_view text, std::vector<Setting>& settings) {
  std::vector<Setting> lines;
  for (const Setting& setting : settings) {
    if (!lines.empty() && setting.begin < lines.back().end) continue;  // of its value
    lines.push_back(setting);
    if (!setting.begins_line) continue;
    while (lines.back().end < text.size() && !EndsLine(text[lines.back().end])) ++lines.back().end;
  }
  settings = std::move(lines);
}

}  // namespace

bool MayHaveSettings(std::string_view text) {
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    if (at > 2 && IsOfVariable(text[at - 1]) && IsOfVariable(text[at - 2])) return true;
  }
  return false;
}

std::optional<std::string> WithoutSettings(std::string_view text, bool keeps_listed) {
  if (!MayHaveSettings(text)) return std::nullopt;
  std::vector<Setting> settings = SettingsOf(text);
  const auto tells = [&](const Setting& setting) {
    return setting.end > setting.equals + 1 &&
           TellsOfEnvironment(text.substr(setting.begin, setting.equals - setting.begin));
  };
  if (std::none_of(settings.begin(), settings.end(), tells)) return std::nullopt;
  const auto begin_lines =
      std::count_if(settings.begin(), settings.end(), [](const Setting& s) { return s.begins_line; });
  if (begin_lines > 1) EndAtLines(text, settings);
  std::string rest;
  size_t at = 0;
  for (const Setting& setting : settings) {
    const std::string_view name = text.substr(setting.begin, setting.equals - setting.begin);
    const std::string_view value = text.substr(setting.equals + 1, setting.end - setting.equals - 1);
    if (keeps_listed && IsKeptEnvironment(name, value)) continue;
    rest += text.substr(at, setting.begin - at);
    at = setting.end;
  }
  if (at == 0) return std::nullopt;
  return rest + std::string(text.substr(at));
}

}  // namespace kprof
