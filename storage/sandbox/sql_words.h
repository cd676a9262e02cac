// The words of a statement: what may be names in it. A table's name cannot be used without its letters standing there
// as a word, whatever quotes are around them. So a table that is no word of the statement need not be offered to it.
//
// A value. Costs one pass over the text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace kprof {

class SqlWords {
 public:
  explicit SqlWords(std::string_view sql);

  // True if the name may be used. `name`: letters, digits and _, in lower case.
  bool Has(std::string_view name) const { return words_.contains(name); }

 private:
  std::string lower_;
  std::unordered_set<std::string_view> words_;  // of lower_
};

}  // namespace kprof
