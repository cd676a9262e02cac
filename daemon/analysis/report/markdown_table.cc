#include "daemon/analysis/report/markdown_table.h"

#include <algorithm>

#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

constexpr size_t kWidestPadding = 60;  // characters: a longer cell does not widen those of all other rows

size_t CharactersOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Padded(const std::string& cell, size_t width, bool is_right) {
  const size_t size = CharactersOf(cell);
  const std::string space(width > size ? width - size : 0, ' ');
  return is_right ? space + cell : cell + space;
}

}  // namespace

MarkdownTable::MarkdownTable(std::initializer_list<std::string_view> columns) {
  for (const std::string_view column : columns) AddColumn(column);
}

void MarkdownTable::AddColumn(std::string_view column) {
  const bool is_right = column.ends_with('>');
  columns_.push_back({std::string(column.substr(0, column.size() - (is_right ? 1 : 0))), is_right});
}

std::string MarkdownTable::Text() const {
  if (rows_.empty()) return "";
  std::vector<size_t> widths(columns_.size(), 0);
  std::vector<std::vector<std::string>> cells;
  cells.reserve(rows_.size());
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::string>& of = cells.emplace_back(columns_.size());
    for (size_t i = 0; i < std::min(row.size(), columns_.size()); ++i) {
      of[i] = CellText(row[i]);
      widths[i] = std::max(widths[i], std::min(CharactersOf(of[i]), kWidestPadding));
    }
  }
  std::string head = "|";
  std::string rule = "|";
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == 0) continue;
    widths[i] = std::max(widths[i], CharactersOf(columns_[i].name));
    head += " " + Padded(columns_[i].name, widths[i], columns_[i].is_right) + " |";
    rule += std::string(widths[i] + (columns_[i].is_right ? 1 : 2), '-') + (columns_[i].is_right ? ":|" : "|");
  }
  std::string text = head + "\n" + rule + "\n";
  for (const std::vector<std::string>& row : cells) {
    text += '|';
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] > 0) text += " " + Padded(row[i], widths[i], columns_[i].is_right) + " |";
    }
    text += '\n';
  }
  return text;
}

}  // namespace kprof
