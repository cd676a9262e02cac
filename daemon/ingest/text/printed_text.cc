#include "daemon/ingest/text/printed_text.h"

namespace kprof {
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
