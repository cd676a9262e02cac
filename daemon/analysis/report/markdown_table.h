// A table of Markdown whose columns stand below each other also where nobody renders it. Columns without any content
// are left out. Values; any thread.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

class MarkdownTable {
 public:
  // Names of the columns; one that ends with '>' has numbers, which stand at the right: "Value>".
  MarkdownTable(std::initializer_list<std::string_view> columns);
  void AddColumn(std::string_view column);

  // Cells as any text; those that are missing are empty. REQUIRES: no more than there are columns.
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // With its head and an end of line; empty where it has no rows.
  std::string Text() const;

 private:
  struct Column {
    std::string name;
    bool is_right = false;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kprof
