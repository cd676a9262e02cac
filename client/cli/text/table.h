// Text for people: tables, and lists of named facts.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/output.h"
#include "client/cli/text/short_names.h"
#include "client/cli/text/text_style.h"

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

// How a cell that does not fit is shortened. kInMiddle is for names: those that differ stay different (short_names.h).
enum class Cut { kNever, kAtEnd, kInMiddle };

struct TableColumn {
  std::string title;
  Align align = Align::kLeft;
  Cut cut = Cut::kNever;
  size_t most = 0;    // columns of the terminal that a cell may take; 0: as many as it needs
  size_t least = 10;  // that a cell which is cut keeps
};

// How a table is to look where it is shown.
struct TableFit {
  size_t width = 0;  // of a line; 0: as long as it needs
  bool has_colours = false;
  bool leaves_out_columns = false;  // the last columns, where the first ones fill the line
};

// Columns of text, aligned. Makes the cells safe for a terminal. The widths come from the first thousand rows; later
// rows are written as they come, so a long table costs no memory.
//
// In a line of limited width the widest of the columns that may be cut are shortened; a left-aligned last column may
// always be cut. Where all are as short as they can be the line gets longer, or columns are left out.
class Table {
 public:
  using Write = std::function<void(std::string_view)>;

  Table(std::vector<TableColumn> columns, TableFit fit, Write write);
  // Writes to standard output, in lines of its terminal's width.
  Table(std::vector<TableColumn> columns, Output& output);

  // REQUIRES: as many cells as columns.
  void AddRow(const std::vector<std::string>& cells);
  void AddStyledRow(const std::vector<StyledText>& cells);
  // Writes the rows that are still held back. Call once, last.
  void Finish();

  // The titles of columns that are left out. Complete after Finish.
  std::vector<std::string> LeftOut() const;

 private:
  bool MayCut(size_t column) const;
  // The cell as it is shown.
  StyledText CellOf(size_t column, StyledText cell, size_t room);
  void ChooseWidths();
  void WriteHeld();
  void WriteLine(const std::vector<StyledText>& safe_cells);

  // Set once.
  const std::vector<TableColumn> columns_;
  const TableFit fit_;
  const Write write_;

  std::vector<size_t> widths_;
  std::vector<ShortNames> names_;              // of each column
  std::vector<std::vector<StyledText>> held_;  // title line first
  size_t visible_ = 0;                         // columns that are shown
  bool holding_ = true;
};

// A note of the columns that were left out, if any; `remedy` says how all are shown. Flushes what was written before.
void NoteLeftOut(const std::vector<std::string>& titles, std::string_view remedy, Output& output);

}  // namespace kprof::cli
