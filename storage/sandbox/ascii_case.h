// SQL's names in one case: SQLite folds the letters of ASCII and no others, whatever the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace kprof {

inline std::string AsciiLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return lower;
}

}  // namespace kprof
