#include "client/cli/views/received_analysis.h"

#include <utility>

#include "client/cli/text/rows.h"

namespace kprof::cli {
namespace {

Status Nonsense(const std::string& why) {
  return Fail(ErrorCode::kBadInput, "read the answer", "kprofd sent what makes no sense: " + why,
              "update the older of kprofctl and kprofd");
}

}  // namespace

Status ReceivedAnalysis::Add(v1::AnalyzeResponse message) {
  if (has_end_) return Nonsense("something after the end");
  if (message.has_header()) {
    if (has_header_) return Nonsense("two headers");
    has_header_ = true;
    header_ = std::move(*message.mutable_header());
    batches_.resize(static_cast<size_t>(header_.tables_size()));
    rows_.resize(batches_.size());
    return OkStatus();
  }
  if (!has_header_) return Nonsense("no header");
  if (message.has_batch()) return AddBatch(*message.mutable_batch());
  if (message.has_facts()) {
    if (message.facts().values_size() != header_.facts_size()) return Nonsense("other facts than it told");
    facts_message_ = std::move(*message.mutable_facts());
    facts_.assign(static_cast<size_t>(header_.facts_size()), Cell());
    for (size_t i = 0; i < facts_.size(); ++i) {
      if (!ColumnCursor(facts_message_.values(static_cast<int>(i))).Next(facts_[i])) return Nonsense("an empty fact");
    }
    return OkStatus();
  }
  if (!message.has_end()) return OkStatus();  // of a newer daemon
  if (header_.facts_size() != static_cast<int>(facts_.size())) return Nonsense("no facts");
  has_end_ = true;
  end_ = std::move(*message.mutable_end());
  return OkStatus();
}

Status ReceivedAnalysis::AddBatch(v1::AnalyzeResponse::Batch& batch) {
  if (batch.table() < 0 || batch.table() >= header_.tables_size()) return Nonsense("rows of a table that it has not");
  const auto table = static_cast<size_t>(batch.table());
  if (batch.columns_size() != header_.tables(batch.table()).columns_size() || batch.rows() < 0) {
    return Nonsense("a batch with other columns");
  }
  for (const v1::ColumnData& column : batch.columns()) {
    ColumnCursor cursor(column);
    Cell cell;
    for (int row = 0; row < batch.rows(); ++row) {
      if (!cursor.Next(cell)) return Nonsense("a column with too few values");
    }
  }
  if (batch.columns_size() == 0 && batch.rows() > 0) return Nonsense("rows without columns");
  rows_[table] += batch.rows();
  batches_[table].push_back(std::move(batch));
  return OkStatus();
}

Result<size_t> ReceivedAnalysis::FindTable(const std::string& name) const {
  std::string names;
  for (int i = 0; i < header_.tables_size(); ++i) {
    if (header_.tables(i).name() == name) return static_cast<size_t>(i);
    names += (names.empty() ? "" : ", ") + header_.tables(i).name();
  }
  return Fail(ErrorCode::kUsage, "analyze", header_.kind() + " has no table '" + name + "'", "it has " + names);
}

void ReceivedAnalysis::ForEachRow(size_t table, int64_t most,
                                  const std::function<bool(const std::vector<Cell>&)>& see) const {
  int64_t seen = 0;
  for (const v1::AnalyzeResponse::Batch& batch : batches_[table]) {
    std::vector<ColumnCursor> cursors;
    for (const v1::ColumnData& column : batch.columns()) cursors.emplace_back(column);
    std::vector<Cell> cells(cursors.size());
    for (int row = 0; row < batch.rows(); ++row) {
      if (seen++ == most) return;
      for (size_t i = 0; i < cursors.size(); ++i) cursors[i].Next(cells[i]);
      if (!see(cells)) return;
    }
  }
}

std::string AnalysisText(const Cell& cell, const v1::AnalysisColumn& column) {
  const bool is_boolean = column.type() == v1::ANALYSIS_TYPE_BOOLEAN && cell.kind == v1::ColumnData::KIND_INTEGER;
  if (is_boolean) return cell.integer != 0 ? "true" : "false";
  return CellText(cell);
}

}  // namespace kprof::cli
