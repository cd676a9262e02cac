#include "client/cli/text/table.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

constexpr size_t kRowsHeld = 1000;
constexpr std::string_view kGap = "  ";

}  // namespace

Table::Table(std::vector<TableColumn> columns, TableFit fit, Write write)
    : columns_(std::move(columns)),
      fit_(fit),
      write_(std::move(write)),
      widths_(columns_.size(), 0),
      visible_(columns_.size()) {
  std::vector<std::string> titles;
  for (const TableColumn& column : columns_) {
    titles.push_back(column.title);
    names_.emplace_back(column.cut == Cut::kInMiddle ? column.most : 0);
  }
  AddRow(titles);
}

Table::Table(std::vector<TableColumn> columns, Output& output)
    : Table(std::move(columns), {.width = output.ResultWidth(), .has_colours = output.result_has_colours()},
            [&output](std::string_view line) { output.Write(line); }) {}

void Table::AddRow(const std::vector<std::string>& cells) {
  std::vector<StyledText> plain;
  plain.reserve(cells.size());
  for (const std::string& cell : cells) plain.push_back({cell, TextStyle::kPlain});
  AddStyledRow(plain);
}

void Table::AddStyledRow(const std::vector<StyledText>& cells) {
  std::vector<StyledText> safe;
  safe.reserve(cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string text = TerminalText(cells[i].text);
    if (columns_[i].most > 0 && columns_[i].cut == Cut::kAtEnd) text = Shortened(text, columns_[i].most);
    if (columns_[i].most > 0 && columns_[i].cut == Cut::kInMiddle) text = names_[i].Shorten(text);
    safe.push_back({std::move(text), cells[i].style});
  }
  if (!holding_) {
    WriteLine(safe);
    return;
  }
  for (size_t i = 0; i < safe.size(); ++i) widths_[i] = std::max(widths_[i], WidthOf(safe[i].text));
  held_.push_back(std::move(safe));
  if (held_.size() > kRowsHeld) WriteHeld();
}

void Table::Finish() {
  if (holding_) WriteHeld();
}

std::vector<std::string> Table::LeftOut() const {
  std::vector<std::string> titles;
  for (size_t i = visible_; i < columns_.size(); ++i) titles.push_back(columns_[i].title);
  return titles;
}

bool Table::MayCut(size_t column) const {
  if (fit_.width == 0) return false;
  const bool is_last = column + 1 == columns_.size();
  return columns_[column].cut != Cut::kNever || (is_last && columns_[column].align == Align::kLeft);
}

void Table::ChooseWidths() {
  if (fit_.width == 0 || columns_.empty()) return;
  const auto least = [this](size_t i) { return MayCut(i) ? std::min(widths_[i], columns_[i].least) : widths_[i]; };
  if (fit_.leaves_out_columns) {
    size_t used = least(0);
    visible_ = 1;
    while (visible_ < columns_.size() && used + kGap.size() + least(visible_) <= fit_.width) {
      used += kGap.size() + least(visible_++);
    }
  }
  for (size_t i = 0; i < visible_; ++i) {
    if (MayCut(i)) widths_[i] = std::min(widths_[i], std::max(fit_.width, columns_[i].least));
  }
  const auto end = widths_.begin() + static_cast<std::ptrdiff_t>(visible_);
  while (std::accumulate(widths_.begin(), end, kGap.size() * (visible_ - 1)) > fit_.width) {
    std::optional<size_t> widest;
    for (size_t i = 0; i < visible_; ++i) {
      if (widths_[i] > least(i) && (!widest || widths_[i] > widths_[*widest])) widest = i;
    }
    if (!widest) return;
    --widths_[*widest];
  }
}

void Table::WriteHeld() {
  holding_ = false;
  ChooseWidths();
  names_.clear();
  for (size_t i = 0; i < columns_.size(); ++i) names_.emplace_back(MayCut(i) ? widths_[i] : columns_[i].most);
  for (const std::vector<StyledText>& line : held_) WriteLine(line);
  held_.clear();
}

StyledText Table::CellOf(size_t column, StyledText cell, size_t room) {
  if (!MayCut(column)) return cell;
  const bool in_middle = columns_[column].cut == Cut::kInMiddle;
  cell.text = in_middle ? names_[column].Shorten(cell.text) : Shortened(cell.text, room);
  return cell;
}

void Table::WriteLine(const std::vector<StyledText>& safe_cells) {
  std::string line;
  size_t line_width = 0;
  for (size_t i = 0; i < visible_; ++i) {
    const bool is_last = i + 1 == visible_;
    if (i > 0) {
      line += kGap;
      line_width += kGap.size();
    }
    // The last cell may use what earlier ones leave.
    const size_t left = fit_.width > line_width ? fit_.width - line_width : 0;
    const StyledText cell = CellOf(i, safe_cells[i], is_last ? std::max(left, columns_[i].least) : widths_[i]);
    const size_t cell_width = WidthOf(cell.text);
    const std::string padding(widths_[i] > cell_width ? widths_[i] - cell_width : 0, ' ');
    const bool right = columns_[i].align == Align::kRight;
    if (right) line += padding;
    line += Styled(cell.text, cell.style, fit_.has_colours);
    if (!right && !is_last) line += padding;
    line_width += std::max(widths_[i], cell_width);
  }
  // A left-aligned empty cell at the end leaves blanks that nobody sees but diffs.
  line.erase(line.find_last_not_of(' ') + 1);
  write_(line + "\n");
}

void NoteLeftOut(const std::vector<std::string>& titles, std::string_view remedy, Output& output) {
  constexpr size_t kMostNamesBytes = 400;
  if (titles.empty()) return;
  std::string names;
  for (const std::string& title : titles) names += (names.empty() ? "" : ", ") + title;
  (void)output.Flush();
  output.Note(std::to_string(titles.size()) + (titles.size() == 1 ? " column does" : " columns do") +
              " not fit: " + ClippedText(names, kMostNamesBytes) + "; " + std::string(remedy));
}

}  // namespace kprof::cli
