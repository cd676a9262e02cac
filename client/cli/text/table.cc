#include "client/cli/text/table.h"

#include <algorithm>

#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

constexpr size_t kRowsHeld = 1000;
constexpr size_t kLeastLastColumn = 10;

}  // namespace

Table::Table(std::vector<TableColumn> columns, size_t width, Write write)
    : columns_(std::move(columns)), width_(width), write_(std::move(write)), widths_(columns_.size(), 0) {
  std::vector<std::string> titles;
  for (const TableColumn& column : columns_) titles.push_back(column.title);
  AddRow(titles);
}

void Table::AddRow(const std::vector<std::string>& cells) {
  std::vector<std::string> safe;
  safe.reserve(cells.size());
  for (const std::string& cell : cells) safe.push_back(TerminalText(cell));
  if (!holding_) {
    WriteLine(safe);
    return;
  }
  for (size_t i = 0; i < safe.size(); ++i) widths_[i] = std::max(widths_[i], WidthOf(safe[i]));
  held_.push_back(std::move(safe));
  if (held_.size() > kRowsHeld) WriteHeld();
}

void Table::Finish() {
  if (holding_) WriteHeld();
}

void Table::WriteHeld() {
  holding_ = false;
  for (const std::vector<std::string>& line : held_) WriteLine(line);
  held_.clear();
}

void Table::WriteLine(const std::vector<std::string>& safe_cells) {
  std::string line;
  size_t line_width = 0;
  for (size_t i = 0; i < safe_cells.size(); ++i) {
    bool last = i + 1 == safe_cells.size();
    if (i > 0) {
      line += "  ";
      line_width += 2;
    }
    std::string cell = safe_cells[i];
    if (last && width_ > 0) {
      size_t room = width_ > line_width + kLeastLastColumn ? width_ - line_width : kLeastLastColumn;
      cell = Shortened(cell, room);
    }
    size_t cell_width = WidthOf(cell);
    std::string padding(widths_[i] > cell_width ? widths_[i] - cell_width : 0, ' ');
    bool right = columns_[i].align == Align::kRight;
    if (right) line += padding;
    line += cell;
    if (!right && !last) line += padding;
    line_width += std::max(widths_[i], cell_width);
  }
  // A left-aligned empty cell at the end leaves blanks that nobody sees but diffs.
  line.erase(line.find_last_not_of(' ') + 1);
  write_(line + "\n");
}

}  // namespace kprof::cli
