// A table of an analysis's answer, read by the names of its columns: for who makes something of answers and knows kinds
// by their documented columns alone. A column that a kind has not has no values.
//
// One thread. Kind and answer outlive it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/analysis/analysis_kind.h"

namespace kprof {

class AnswerTable {
 public:
  // An empty table where the kind has none of that name.
  AnswerTable(const AnalysisKind& kind, const AnalysisAnswer& answer, std::string_view name) {
    for (size_t i = 0; i < kind.tables.size(); ++i) {
      if (kind.tables[i].name != name) continue;
      columns_ = &kind.tables[i].columns;
      rows_ = answer.rows(i);
    }
  }

  size_t size() const { return rows_.size(); }

  // Nothing: it is not known, or no number.
  std::optional<double> Number(size_t row, std::string_view column) const {
    const AnalysisValue* value = Find(row, column);
    if (value == nullptr) return std::nullopt;
    if (const auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(value)) return *real;
    return std::nullopt;
  }
  // Empty: it is not known, or no text.
  std::string Text(size_t row, std::string_view column) const {
    const AnalysisValue* value = Find(row, column);
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return text == nullptr ? std::string() : *text;
  }

 private:
  const AnalysisValue* Find(size_t row, std::string_view column) const {
    const auto found = std::find_if(columns_->begin(), columns_->end(),
                                    [column](const AnalysisColumn& one) { return one.name == column; });
    return found == columns_->end() ? nullptr : &rows_[row][static_cast<size_t>(found - columns_->begin())];
  }

  inline static const std::vector<AnalysisColumn> kNoColumns;
  const std::vector<AnalysisColumn>* columns_ = &kNoColumns;
  std::span<const AnalysisAnswer::Row> rows_;
};

// An answer with the kind that gave it.
struct KindAnswer {
  const AnalysisKind* kind;
  AnalysisAnswer answer;

  AnswerTable table(std::string_view name) const { return {*kind, answer, name}; }
};

// Asks a kind with these options; fails as Analyze does.
Result<KindAnswer> AskKind(const std::string& name, const AnalysisTraces& traces,
                           const std::map<std::string, std::string>& given, const StopSignal& stop);

// The same of traces that may be too long for it: nothing, and a note, where it needs more memory than it may have.
// REQUIRES: the options are right, as that fails with kUsage, too.
Result<std::optional<KindAnswer>> AskKindIfItFits(const std::string& name, const AnalysisTraces& traces,
                                                  const std::map<std::string, std::string>& given,
                                                  const StopSignal& stop, std::vector<std::string>& notes);

}  // namespace kprof
