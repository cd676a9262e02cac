#include "daemon/ingest/environment_settings.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "daemon/ingest/environment_names.h"

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

// What a value without quotes ends at, within a line: certainly, and where it is one of several in a list.
bool EndsWord(char c) {
  constexpr std::string_view kEnds = " \t;|&\"'`<>";
  return EndsLine(c) || kEnds.find(c) != kEnds.npos;
}
bool IsOfList(char c) {
  constexpr std::string_view kMarks = "(){}[],";
  return kMarks.find(c) != kMarks.npos;
}

struct Setting {
  size_t begin = 0;
  size_t equals = 0;
  size_t end = 0;
  bool begins_line = false;
};

// Behind the quoted text that begins at `at`; npos: it has no end.
size_t QuotedEnd(std::string_view text, size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at) {
    if (quote == '"' && text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : text.npos;
}

// Behind the value that begins at `at`, as a shell takes it: pieces in quotes and others, one behind the other, or all
// of the line where a quote has no end. `around` is a quote that it all stands in, if it is one.
size_t WordEnd(std::string_view text, size_t at, char around) {
  const auto begins_quoted = [&](size_t i) {
    return i < text.size() && (text[i] == '"' || text[i] == '\'') && text[i] != around;
  };
  const bool is_quoted = begins_quoted(at);
  while (at < text.size()) {
    if (is_quoted && begins_quoted(at)) {
      const size_t end = QuotedEnd(text, at);
      if (end == text.npos) {
        while (at < text.size() && !EndsLine(text[at])) ++at;
        return at;
      }
      at = end;
    } else if (EndsWord(text[at]) || IsOfList(text[at])) {
      break;
    } else {
      ++at;
    }
  }
  return at;
}

// What lines of a text end at: where some are in zeros, as in /proc/PID/environ, a value may hold any other.
class Lines {
 public:
  explicit Lines(std::string_view text) : has_zeros_(text.find('\0') < text.find_last_not_of('\0')) {}
  bool EndsAt(char c) const { return has_zeros_ ? c == '\0' : EndsLine(c); }

 private:
  const bool has_zeros_;
};

// Where the name of a setting begins that has its '=' there, at `least` or later. Nothing where it is none.
std::optional<size_t> NameOf(std::string_view text, size_t least, size_t equals) {
  size_t begin = equals;
  while (begin > least && IsOfVariable(text[begin - 1])) --begin;
  const char before = begin > 0 ? text[begin - 1] : '\0';
  const bool is_compared = equals + 1 < text.size() && text[equals + 1] == '=';
  const bool is_part = IsSmall(before) || before == '-' || before == '.' || before == '/' || before == '$';
  if (is_compared || is_part || !IsVariableName(text.substr(begin, equals - begin))) return std::nullopt;
  return begin;
}

// Wherever it stands, also in what looks like the value of another one.
bool HasTelling(std::string_view text) {
  for (size_t equals = text.find('='); equals != text.npos; equals = text.find('=', equals + 1)) {
    const std::optional<size_t> begin = NameOf(text, 0, equals);
    if (!begin || equals + 1 == text.size()) continue;
    const char next = text[equals + 1];
    const bool has_value = next == '"' || next == '\'' || (!EndsWord(next) && !IsOfList(next));
    if (has_value && TellsOfEnvironment(text.substr(*begin, equals - *begin))) return true;
  }
  return false;
}

std::vector<Setting> SettingsOf(std::string_view text, const Lines& lines) {
  std::vector<Setting> settings;
  for (size_t equals = text.find('='); equals != text.npos; equals = text.find('=', equals + 1)) {
    const size_t least = settings.empty() ? 0 : settings.back().end;
    if (equals < least) continue;  // of a value
    const std::optional<size_t> begin = NameOf(text, least, equals);
    if (!begin) continue;
    const char before = *begin > 0 ? text[*begin - 1] : '\0';
    settings.push_back({*begin, equals, WordEnd(text, equals + 1, before), lines.EndsAt(before)});
  }
  return settings;
}

// Marks of lists in a value are of it, where no setting comes behind them: a secret may hold any.
void EndAtBlanks(std::string_view text, std::vector<Setting>& settings) {
  for (size_t i = 0; i < settings.size(); ++i) {
    size_t& end = settings[i].end;
    if (end == settings[i].equals + 1) continue;
    const size_t least = end;
    const size_t most = i + 1 < settings.size() ? settings[i + 1].begin : text.size();
    while (end < most && !EndsWord(text[end])) ++end;
    while (end > least && IsOfList(text[end - 1])) --end;
  }
}

// One to a line, a value goes on to its end, whatever is in it.
void EndAtLines(std::string_view text, const Lines& lines, std::vector<Setting>& settings) {
  std::vector<Setting> whole;
  for (const Setting& setting : settings) {
    if (!whole.empty() && setting.begin < whole.back().end) continue;  // of its value
    whole.push_back(setting);
    if (!setting.begins_line) continue;
    while (whole.back().end < text.size() && !lines.EndsAt(text[whole.back().end])) ++whole.back().end;
  }
  settings = std::move(whole);
}

}  // namespace

bool MayHaveSettings(std::string_view text) {
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    if (at > 2 && IsOfVariable(text[at - 1]) && IsOfVariable(text[at - 2])) return true;
  }
  return false;
}

std::optional<std::string> WithoutSettings(std::string_view text) {
  if (!MayHaveSettings(text) || !HasTelling(text)) return std::nullopt;
  const Lines lines(text);
  std::vector<Setting> settings = SettingsOf(text, lines);
  const auto begin_lines =
      std::count_if(settings.begin(), settings.end(), [](const Setting& s) { return s.begins_line; });
  EndAtBlanks(text, settings);
  if (begin_lines > 1) EndAtLines(text, lines, settings);
  std::string rest;
  size_t at = 0;
  for (const Setting& setting : settings) {
    rest += text.substr(at, setting.begin - at);
    at = setting.end;
  }
  return rest + std::string(text.substr(at));
}

}  // namespace kprof
