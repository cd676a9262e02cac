#include "storage/sandbox/sql_words.h"

#include <algorithm>

namespace kprof {

SqlWords::SqlWords(std::string_view sql) : lower_(sql) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  std::transform(lower_.begin(), lower_.end(), lower_.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  for (auto begin = lower_.begin(); begin != lower_.end();) {
    begin = std::find_if(begin, lower_.end(), is_word);
    const auto end = std::find_if_not(begin, lower_.end(), is_word);
    if (begin != end) words_.emplace(begin, end);
    begin = end;
  }
}

}  // namespace kprof
