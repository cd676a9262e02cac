#include "daemon/exports/environment_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
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
constexpr size_t kLongestName = 40;

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
    if (c != '_' && c != '-' && c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::find(kNames.begin(), kNames.end(), letters) != kNames.end();
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
