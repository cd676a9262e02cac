// Columns of text, aligned for people. Cells are made safe for terminals here (terminal_text.h). The widths come from
// the first thousand rows; later ones are written as they come, so a long table costs no memory.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof::cli {

// What is known of something, in lines for people: "name      value", a name only on the first line of several.
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

class Table {
 public:
  using Write = std::function<void(std::string_view)>;

  // With `width` above 0 the last column is shortened to make lines fit; 0: lines are as long as they need.
  Table(std::vector<TableColumn> columns, size_t width, Write write);

  // REQUIRES: as many cells as columns.
  void AddRow(const std::vector<std::string>& cells);
  // Writes what is still held back. Call once, last.
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
