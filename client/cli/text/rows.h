// The rows of a query as they are printed: table, CSV, JSON or one JSON object per row. Rows are written as they come.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/output.h"
#include "client/cli/text/cells.h"
#include "kprof/v1/queries.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

enum class RowFormat { kTable, kCsv, kJson, kNdjson };

std::optional<RowFormat> RowFormatByName(std::string_view name);

// A form of output. Called in this order: Begin, Row for each row, then End or Abort. Without End the text written is
// incomplete.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void Begin(const std::vector<std::string>& columns) = 0;
  virtual void Row(const std::vector<Cell>& cells) = 0;
  virtual void End(const v1::QueryResponse::Totals& totals) = 0;
  // No more rows come: JSON is closed and says why.
  virtual void Abort(const Status& /*failure*/) {}
};

// On a terminal a table has its numbers at the right, fits the width, and has durations (_ns), points in time and sizes
// (_bytes) in units; if `wide` it has all columns, and values as they are stored. CSV has its control characters
// escaped there. Elsewhere both have the bytes as they are.
std::unique_ptr<RowWriter> MakeRowWriter(RowFormat format, Output& output, bool wide = false);

// True if a column of that name holds durations or points in time ("_ns"), or sizes ("_bytes"): "dur_ns",
// "sum(dur_ns)". Not of "count(dur_ns)".
bool HasUnit(std::string_view column, std::string_view unit);

// A value as people compare it on a terminal: in the unit that its column's name tells, with its digits grouped.
std::string CellWithUnit(const Cell& cell, std::string_view column);

// Takes a query's messages, checks them and feeds a writer. Nothing is written before the first rows or the end, so a
// query that fails at once prints nothing.
class RowStream {
 public:
  explicit RowStream(RowWriter& writer) : writer_(writer) {}

  // Fails with kBadInput for a message that makes no sense.
  Status Add(const v1::QueryResponse& message);
  // Call once, last, when the rest does not come.
  void Abort(const Status& failure);
  // The totals in the last message; absent until it comes.
  const std::optional<v1::QueryResponse::Totals>& totals() const { return totals_; }

 private:
  Status AddBatch(const v1::QueryResponse::Batch& batch);

  RowWriter& writer_;
  std::vector<std::string> columns_;
  bool has_header_ = false;
  bool begun_ = false;
  std::optional<v1::QueryResponse::Totals> totals_;
};

}  // namespace kprof::cli
