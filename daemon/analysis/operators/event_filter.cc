#include "daemon/analysis/operators/event_filter.h"

#include <cstddef>

namespace kprof {
namespace {

size_t CharacterAt(std::string_view text, size_t at) {
  const auto is_continued = [&](size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) >> 6) == 2;
  };
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  size_t size = 1;
  while (size < length && is_continued(at + size)) ++size;
  return size;
}

}  // namespace

bool HasWildcards(std::string_view pattern) {
  return pattern.find_first_of("*?") != std::string_view::npos;
}

// Only the last `*` is ever given more: what an earlier one could take, the last one can, too.
bool MatchesPattern(std::string_view pattern, std::string_view name) {
  size_t in_pattern = 0;
  size_t in_name = 0;
  size_t star = std::string_view::npos;
  size_t taken = 0;
  while (in_name < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      taken = in_name;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == '?') {
      in_name += CharacterAt(name, in_name);
      ++in_pattern;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == name[in_name]) {
      ++in_name;
      ++in_pattern;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      in_name = ++taken;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

}  // namespace kprof
