#include "daemon/ingest/text/printed_text.h"

#include <cstddef>

#include "daemon/ingest/text/private_names.h"

namespace kprof {
namespace {

bool IsSettingDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsOfVariable(char c) {
  return (c >= 'A' && c <= 'Z') || IsSettingDigit(c) || c == '_';
}

bool IsSmall(char c) {
  return c >= 'a' && c <= 'z';
}

bool EndsLine(char c) {
  return c == '\n' || c == '\r' || c == '\0';
}

// What a color of a terminal ends with: ESC [ 1 ; 3 2 m.
bool EndsColor(std::string_view text) {
  if (!text.ends_with('m')) return false;
  text.remove_suffix(1);
  while (!text.empty() && (IsSettingDigit(text.back()) || text.back() == ';')) text.remove_suffix(1);
  return text.ends_with("\x1b[");
}

// Whether what stands behind `before` belongs to a longer word, and is no name by itself. Small letters may also be of
// an escape that somebody printed (\n, \x00, \u0000), of a color, or of an option (-eNAME=value).
bool GoesOn(std::string_view before) {
  if (before.empty()) return false;
  const char last = before.back();
  if (last == '-' || last == '.' || last == '/' || last == '$') return true;
  if (!IsSmall(last)) return false;
  const char second = before.size() > 1 ? before[before.size() - 2] : ' ';
  return second != '\\' && !(last == 'e' && second == '-') && !EndsColor(before);
}

// That is more than marks and blanks.
bool BeginsValue(std::string_view text) {
  constexpr std::string_view kMarks = "(){}[],";
  constexpr std::string_view kEnds = " \t;|&`<>";
  while (!text.empty() && kMarks.find(text.front()) != kMarks.npos) text.remove_prefix(1);
  return !text.empty() && !EndsLine(text.front()) && kEnds.find(text.front()) == kEnds.npos;
}

// Whether there is a setting whose '=' is there, of a variable that tells.
bool TellsAt(std::string_view text, size_t equals) {
  size_t begin = equals;
  while (begin > 0 && IsOfVariable(text[begin - 1])) --begin;
  size_t name = begin;
  while (name < equals && IsSettingDigit(text[name])) ++name;  // of an escape, if there are any: \x00HOME=
  if (!TellsOfEnvironment(text.substr(name, equals - name)) || GoesOn(text.substr(0, begin))) return false;
  const bool is_compared = text.substr(equals + 1).starts_with('=') && begin > 0 && !EndsLine(text[begin - 1]);
  return !is_compared && BeginsValue(text.substr(equals + 1));
}

}  // namespace

bool MayHaveSettings(std::string_view text) {
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    if (at > 2 && IsOfVariable(text[at - 1]) && IsOfVariable(text[at - 2])) return true;
  }
  return false;
}

bool SetsVariables(std::string_view text) {
  for (size_t equals = text.find('='); equals != text.npos; equals = text.find('=', equals + 1)) {
    if (TellsAt(text, equals)) return true;
  }
  return false;
}

bool HasBracket(std::string_view text) {
  return text.find('{') != text.npos || text.find('[') != text.npos || text.find('(') != text.npos;
}

bool HasQuote(std::string_view text) {
  return text.find('"') != text.npos || text.find('\'') != text.npos;
}

bool BeginsString(std::string_view json, size_t at) {
  if (json[at] == '"') return true;
  if (json[at] != '\'') return false;
  if (at > 0 && (json[at - 1] == 'b' || json[at - 1] == 'u')) --at;
  while (at > 0 && IsBlank(json[at - 1])) --at;
  return at > 0 && std::string_view("{[(,:=").find(json[at - 1]) != std::string_view::npos;
}

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

size_t SkipMember(std::string_view json, size_t at) {
  int depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (BeginsString(json, at)) {
      at = StringEnd(json, at);
      continue;
    }
    if (depth == 0 && (c == ',' || IsCloser(c))) return at;
    if (IsBracket(c)) ++depth;
    if (IsCloser(c)) --depth;
    ++at;
  }
  return at;
}

size_t SkipNest(std::string_view json, size_t at) {
  int depth = 0;
  while (at < json.size()) {
    if (BeginsString(json, at)) {
      at = StringEnd(json, at);
      continue;
    }
    if (IsBracket(json[at])) ++depth;
    if (IsCloser(json[at])) --depth;
    ++at;
    if (depth == 0) return at;
  }
  return at;
}

}  // namespace kprof
