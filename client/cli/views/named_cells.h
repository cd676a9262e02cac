// The values of a row of an answer, or its facts, by the names of their columns: for screens that know a kind of
// analysis. A column that another version of the daemon does not have is absent.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/text/cells.h"
#include "client/cli/views/received_analysis.h"

namespace kprof::cli {

// A view: columns and cells outlive it.
class NamedCells {
 public:
  NamedCells(const AnalysisColumns& columns, const std::vector<Cell>& cells) : columns_(columns), cells_(cells) {}

  std::optional<int64_t> integer(std::string_view name) const {
    const Cell* cell = Find(name);
    return cell != nullptr && cell->kind == v1::ColumnData::KIND_INTEGER ? std::optional(cell->integer) : std::nullopt;
  }
  std::optional<double> real(std::string_view name) const {
    const Cell* cell = Find(name);
    return cell != nullptr && cell->kind == v1::ColumnData::KIND_REAL ? std::optional(cell->real) : std::nullopt;
  }
  // Empty: it is not there.
  std::string text(std::string_view name) const {
    const Cell* cell = Find(name);
    return cell != nullptr && cell->kind == v1::ColumnData::KIND_TEXT ? std::string(cell->bytes) : "";
  }
  std::string percent(std::string_view name) const { return PercentText(real(name)); }

  static std::string PercentText(std::optional<double> value) {
    if (!value) return "-";
    char text[400];
    std::snprintf(text, sizeof(text), "%.1f %%", *value);
    return text;
  }

 private:
  const Cell* Find(std::string_view name) const {
    for (int i = 0; i < columns_.size(); ++i) {
      if (columns_[i].name() == name) return &cells_[static_cast<size_t>(i)];
    }
    return nullptr;
  }

  const AnalysisColumns& columns_;
  const std::vector<Cell>& cells_;
};

}  // namespace kprof::cli
