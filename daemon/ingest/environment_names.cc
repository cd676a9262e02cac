#include "daemon/ingest/environment_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include "daemon/ingest/json_text.h"

namespace kprof {
namespace {

// In lower case, without what stands between words.
constexpr std::array<std::string_view, 9> kNames = {"env",
                                                    "envs",
                                                    "envvar",
                                                    "envvars",
                                                    "environ",
                                                    "environment",
                                                    "environmentvariable",
                                                    "environments",
                                                    "environmentvariables"};
// What may stand before them.
constexpr std::array<std::string_view, 5> kWhose = {"process", "proc", "os", "system", "host"};
// What a name may end in. Several (num_envs) are counted, not held.
constexpr std::array<std::string_view, 7> kLastWords = {
    "env", "envvar", "envvars", "environ", "environment", "environmentvariable", "environmentvariables"};
constexpr size_t kLongestName = 256;
constexpr int kMostTexts = 4;  // JSON in a text in JSON in a text

char Lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool IsBetweenWords(char c) {
  return c == '_' || c == '-' || c == ' ';
}

bool IsStep(char c) {
  return c == '.' || c == ':' || c == '/';
}

bool IsName(std::string_view letters) {
  const auto is_name = [](std::string_view text) {
    return std::find(kNames.begin(), kNames.end(), text) != kNames.end();
  };
  const auto is_whose = [&](std::string_view whose) {
    return letters.starts_with(whose) && is_name(letters.substr(whose.size()));
  };
  return is_name(letters) || std::any_of(kWhose.begin(), kWhose.end(), is_whose);
}

bool IsLastWord(std::string_view letters) {
  return std::find(kLastWords.begin(), kLastWords.end(), letters) != kLastWords.end();
}

// In lower case; a capital begins one, of several the last before a small letter.
std::vector<std::string> WordsOf(std::string_view step) {
  std::vector<std::string> words{""};
  for (size_t i = 0; i < step.size(); ++i) {
    const bool is_between = IsBetweenWords(step[i]);
    const bool ends_capitals = i + 1 < step.size() && step[i + 1] >= 'a' && step[i + 1] <= 'z';
    const bool is_begin = i > 0 && IsUpper(step[i]) && (!IsUpper(step[i - 1]) || ends_capitals);
    if ((is_between || is_begin) && !words.back().empty()) words.emplace_back();
    if (!is_between) words.back() += Lower(step[i]);
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool EndsInName(std::string_view step) {
  const std::vector<std::string> words = WordsOf(step);
  if (words.empty()) return false;
  return IsLastWord(words.back()) || (words.size() > 1 && IsLastWord(words[words.size() - 2] + words.back()));
}

bool IsBlank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Whether a string begins there, also as Python prints one: in single quotes, where a value may stand (not in "it's"),
// and maybe behind a letter (b'...').
bool BeginsString(std::string_view json, size_t at) {
  if (json[at] == '"') return true;
  if (json[at] != '\'') return false;
  if (at > 0 && (json[at - 1] == 'b' || json[at - 1] == 'u')) --at;
  while (at > 0 && IsBlank(json[at - 1])) --at;
  return at > 0 && std::string_view("{[(,:=").find(json[at - 1]) != std::string_view::npos;
}

bool BeginsText(char c) {
  return c == '"' || c == '\'' || c == '{' || c == '[' || c == '(';
}

// Behind the quote that closes the string that begins at `at`.
size_t StringEnd(std::string_view json, size_t at) {
  const char quote = json[at];
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\') {
      ++at;
    } else if (json[at] == quote) {
      return at + 1;
    }
  }
  return json.size();
}

size_t SkipBlank(std::string_view json, size_t at) {
  while (at < json.size() && IsBlank(json[at])) ++at;
  return at;
}

// Behind the value that follows a key, and the space behind that: at a comma, or at what closes the object.
size_t SkipMember(std::string_view json, size_t at) {
  int depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (BeginsString(json, at)) {
      at = StringEnd(json, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ')')) return at;
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    ++at;
  }
  return at;
}

void DropLastComma(std::string& json) {
  const size_t last = json.find_last_not_of(" \n\r\t");
  if (last != json.npos && json[last] == ',') json.resize(last);
}

// What a key says, as far as names of ASCII go.
std::string KeyText(std::string_view quoted) {
  std::string text;
  for (size_t at = 1; at + 1 < quoted.size(); ++at) {
    unsigned code = 0;
    const std::string_view digits = quoted.substr(at).starts_with("\\u") ? quoted.substr(at + 2, 4) : "";
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() == 4 && error == std::errc() && end == digits.data() + 4 && code < 0x80) {
      text += static_cast<char>(code);
      at += 5;
    } else {
      text += quoted[at];
    }
  }
  return text;
}

// The member whose key, in its quotes, ends at `end`.
bool IsEnvironmentMember(std::string_view key, std::string_view json, size_t end) {
  const std::string name = KeyText(key);
  if (IsEnvironmentName(name)) return true;
  size_t at = SkipBlank(json, end);
  if (at >= json.size() || json[at] != ':') return false;
  at = SkipBlank(json, at + 1);
  return at < json.size() && BeginsText(json[at]) && EndsInEnvironmentName(name);
}

std::string Without(std::string_view json, int texts);

std::optional<std::string> TextWithout(std::string_view quoted, int texts) {
  if (texts == kMostTexts || quoted.find('{') == quoted.npos) return std::nullopt;
  const size_t begin = quoted.find_first_not_of(" \\ntr");  // space, also as an escape
  if (begin == quoted.npos || (quoted[begin] != '{' && quoted[begin] != '[')) return std::nullopt;
  if (!MayNameEnvironment(quoted)) return std::nullopt;
  const std::string text = UnescapeJson(quoted);
  if (!MayNameEnvironment(text)) return std::nullopt;
  const std::string without = Without(text, texts + 1);
  if (without == text) return std::nullopt;
  std::string out;
  AppendJsonString(out, without);
  return out.substr(1, out.size() - 2);
}

std::string Without(std::string_view json, int texts) {
  std::string out;
  out.reserve(json.size());
  std::vector<char> open;
  bool at_key = false;
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (BeginsString(json, at)) {
      const size_t end = StringEnd(json, at);
      const std::string_view text = json.substr(at, end - at);
      if (at_key && IsEnvironmentMember(text, json, end)) {
        at = SkipMember(json, end);
        if (at < json.size() && json[at] == ',') {
          at = SkipBlank(json, at + 1);
        } else {
          DropLastComma(out);
        }
        continue;
      }
      const bool is_closed = c == '"' && text.size() > 1 && text.back() == c;
      const std::optional<std::string> without =
          at_key || !is_closed ? std::nullopt : TextWithout(text.substr(1, text.size() - 2), texts);
      at_key = false;
      out += without ? '"' + *without + '"' : std::string(text);
      at = end;
      continue;
    }
    if (c == '{' || c == '[') open.push_back(c);
    if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
    if (c == '{' || c == ',') at_key = !open.empty() && open.back() == '{';
    if (c == '[' || c == '}' || c == ']') at_key = false;
    out += c;
    ++at;
  }
  return out;
}

}  // namespace

bool IsEnvironmentName(std::string_view name) {
  if (name.size() > kLongestName) return false;
  std::string letters;
  for (const char c : name) {
    if (IsStep(c)) {
      if (IsName(letters)) return true;
      letters.clear();
    } else if (!IsBetweenWords(c)) {
      letters += Lower(c);
    }
  }
  return IsName(letters);
}

bool EndsInEnvironmentName(std::string_view name) {
  if (IsEnvironmentName(name)) return true;
  if (name.size() > kLongestName) return false;
  for (size_t begin = 0; begin <= name.size();) {
    const auto step = std::find_if(name.begin() + static_cast<ptrdiff_t>(begin), name.end(), IsStep);
    const auto end = static_cast<size_t>(step - name.begin());
    if (EndsInName(name.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

bool HasEnvironmentWord(std::string_view name) {
  if (IsEnvironmentName(name)) return true;
  std::string word;
  char before = '\0';
  for (const char c : name.substr(0, kLongestName)) {
    const bool begins = IsBetweenWords(c) || IsStep(c) || (IsUpper(c) && !IsUpper(before));
    if (begins && IsName(std::exchange(word, {}))) return true;
    if (!IsBetweenWords(c) && !IsStep(c)) word += Lower(c);
    before = c;
  }
  return IsName(word);
}

bool MayNameEnvironment(std::string_view json) {
  if (json.find('{') == json.npos) return false;
  if (json.find('\\') != json.npos) return true;  // whatever that stands for
  for (size_t at = json.find_first_of("vV"); at != json.npos; at = json.find_first_of("vV", at + 1)) {
    if (at >= 2 && Lower(json[at - 1]) == 'n' && Lower(json[at - 2]) == 'e') return true;
  }
  return false;
}

std::string WithoutEnvironment(std::string_view json) {
  return Without(json, 0);
}

std::optional<std::string> TextWithoutEnvironment(std::string_view quoted) {
  return TextWithout(quoted, 0);
}

}  // namespace kprof
