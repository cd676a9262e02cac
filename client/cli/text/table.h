// Text for people: tables, and lists of named facts.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof::cli {

// Lines of facts: "name      value". When one name has several values in a row, only the first line has the name. The
// caller makes values safe for a terminal.
class Facts {
 public:
  void Add(std::string_view name, std::string_view safe_value) {
    std::string label(name == last_ ? "" : name);
    last_ = name;
    label.resize(std::max<size_t>(label.size() + 1, 12), ' ');
    text_ += label + std::string(safe_value) + "\n";
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  std::string last_;
};

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string title;
  Align align = Align::kLeft;
};

// Columns of text, aligned. Makes the cells safe for a terminal. The widths come from the first thousand rows; later
// rows are written as they come, so a long table costs no memory.
class Table {
 public:
  using Write = std::function<void(std::string_view)>;

  // With `width` above 0 the last column is shortened to make lines fit; 0: lines are as long as they need.
  Table(std::vector<TableColumn> columns, size_t width, Write write);

  // REQUIRES: as many cells as columns.
  void AddRow(const std::vector<std::string>& cells);
  // Writes the rows that are still held back. Call once, last.
  void Finish();

 private:
  void WriteHeld();
  void WriteLine(const std::vector<std::string>& safe_cells);

  // Set once.
  const std::vector<TableColumn> columns_;
  const size_t width_;
  const Write write_;

  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> held_;  // title line first
  bool holding_ = true;
};

}  // namespace kprof::cli
