// Long names cut in their middle, where kernel names differ least. Names that differ stay different.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace kprof::cli {

// The names of one column of a table. One thread.
class ShortNames {
 public:
  // At most `width` columns for each; 0: as long as they are.
  explicit ShortNames(size_t width = 0) : width_(width) {}

  // The name, or a text that stands for it: its beginning, "..." and its end. Where another name has that text already,
  // the part in which the two differ is shown, too, or a number. Remembers the first 10,000 long names.
  std::string Shorten(const std::string& safe_name);

 private:
  bool Take(const std::string& text, const std::string& name);

  const size_t width_;
  std::map<std::string, std::string> names_;  // by the text that stands for each
};

}  // namespace kprof::cli
