#include "daemon/ingest/environment_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

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
constexpr size_t kLongestName = 256;

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

// Behind the quote that closes the string that begins at `at`.
size_t StringEnd(std::string_view json, size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      return at + 1;
    }
  }
  return json.size();
}

size_t SkipBlank(std::string_view json, size_t at) {
  while (at < json.size() && (json[at] == ' ' || json[at] == '\n' || json[at] == '\r' || json[at] == '\t')) ++at;
  return at;
}

// Behind the value that follows a key, and the space behind that: at a comma, or at what closes the object.
size_t SkipMember(std::string_view json, size_t at) {
  int depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = StringEnd(json, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return at;
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
  std::string out;
  out.reserve(json.size());
  std::vector<char> open;
  bool at_key = false;
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      const size_t end = StringEnd(json, at);
      const std::string_view text = json.substr(at, end - at);
      if (at_key && IsEnvironmentName(KeyText(text))) {
        at = SkipMember(json, end);
        if (at < json.size() && json[at] == ',') {
          at = SkipBlank(json, at + 1);
        } else if (!out.empty() && out.back() == ',') {
          out.pop_back();
        }
        continue;
      }
      at_key = false;
      out += text;
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

}  // namespace kprof
