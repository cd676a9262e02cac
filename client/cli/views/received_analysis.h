// The answer of an analysis as kprofctl has it. Knows no kind of analysis: the daemon's description of the tables is
// enough, so those of a newer daemon are understood, too.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "client/cli/text/cells.h"
#include "kprof/v1/analyses.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

using AnalysisColumns = google::protobuf::RepeatedPtrField<v1::AnalysisColumn>;

// The answer of an analysis. Takes the daemon's messages, checks them and keeps them until the answer is whole. One
// thread.
class ReceivedAnalysis {
 public:
  // Fails with kBadInput for a message that makes no sense.
  Status Add(v1::AnalyzeResponse message);
  // True once the last message came. The methods below REQUIRE it.
  bool is_whole() const { return has_end_; }

  const v1::AnalyzeResponse::Header& header() const { return header_; }
  const v1::AnalyzeResponse::End& end() const { return end_; }
  // A value for each of the header's facts.
  const std::vector<Cell>& facts() const { return facts_; }
  int64_t rows(size_t table) const { return rows_[table]; }
  // The index of a table. Fails with kUsage when the answer has no table of that name.
  Result<size_t> FindTable(const std::string& name) const;
  // Calls `see` with the cells of each row of a table, for at most `most` rows; stops when `see` returns false.
  void ForEachRow(size_t table, int64_t most, const std::function<bool(const std::vector<Cell>&)>& see) const;

 private:
  Status AddBatch(v1::AnalyzeResponse::Batch& batch);

  bool has_header_ = false;
  bool has_end_ = false;
  v1::AnalyzeResponse::Header header_;
  v1::AnalyzeResponse::Facts facts_message_;
  std::vector<Cell> facts_;
  std::vector<std::vector<v1::AnalyzeResponse::Batch>> batches_;  // of each table
  std::vector<int64_t> rows_;
  v1::AnalyzeResponse::End end_;
};

constexpr int64_t kAllRows = std::numeric_limits<int64_t>::max();

inline bool IsAbsent(const Cell& cell) {
  return cell.kind == v1::ColumnData::KIND_UNSPECIFIED;
}

// A value of a column as text; a boolean is true or false.
std::string AnalysisText(const Cell& cell, const v1::AnalysisColumn& column);

}  // namespace kprof::cli
