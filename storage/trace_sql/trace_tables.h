// Traces as SQL's tables: slice, instant, counter, flow, flow_point, metadata, track, trace and metric, the side tables
// of the set's parts under their own names, and the function arg. Conditions are handed inside if they narrow what is
// read (scan_plan.h). Columns are decoded when a value of them is asked for.
//
// A table's failure is SQLITE_ERROR with our words as SQLite's message; TraceSet::status has it whole.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/flow_rules.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// Functions that make a value of ours a result of SQLite's.
inline void ResultInteger(sqlite3_context* out, int64_t value) {
  if (value != kNoValue) sqlite3_result_int64(out, value);
}
inline void ResultInteger(sqlite3_context* out, std::optional<int64_t> value) {
  if (value) sqlite3_result_int64(out, *value);
}
// REQUIRES: `text` lives as long as the connection.
inline void ResultKept(sqlite3_context* out, const std::string& text) {
  sqlite3_result_text64(out, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}
inline void ResultCopied(sqlite3_context* out, const std::string& text) {
  sqlite3_result_text64(out, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
inline void ResultText(sqlite3_context* out, const PartText& text) {
  sqlite3_result_text64(out, text.bytes, text.size, text.kept ? SQLITE_STATIC : SQLITE_TRANSIENT, SQLITE_UTF8);
}
inline Status ResultFlowId(OpenPart& part, int64_t flow_id, sqlite3_context* out) {
  if (IsNumberedFlow(flow_id)) {
    ResultCopied(out, NumberedFlowText(flow_id));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const PartText text, part.ReadText(flow_id));
  ResultText(out, text);
  return OkStatus();
}

// The use of conditions on a column. Those on columns other than kPlain and kNone are looked up or narrow a search.
enum class ColumnRole : uint8_t {
  kNone,         // its conditions are SQLite's alone
  kPlain,        // an integer
  kRun,          // a text, the same for all rows of a part: of its run, or its own
  kText,         // a text with a number
  kId,           // tells rows apart
  kTrack,        // an id of a track
  kTime,         // rows are in slices of it
  kCorrelation,  // few rows have the same
  kParent,       // as well
};

struct TraceColumn {
  const char* name;
  const char* type;  // INTEGER, REAL or TEXT
  ColumnRole role = ColumnRole::kNone;
  bool is_hidden = false;  // not in SELECT *
};

// One reading of a table's rows.
class TraceScan {
 public:
  virtual ~TraceScan() = default;
  // The order in which rows are wanted. `grouped_by`: a column in whose order rows must come, or -1; `read`: the
  // columns beside it that are read then, and no others; `one_each`: one row for each value of it is enough. (For GROUP
  // BY alone it would be enough that equal values come together; but SQLite 3.40 says the same if an ORDER BY follows
  // that wants no more than that order.)
  struct Order {
    int grouped_by = -1;
    bool one_each = false;
    bool is_descending = false;
    std::vector<int> read;
    // A column whose first values in their order are wanted, those of so many rows, or -1. NULL is less than all else,
    // and rows with the same value come as they would otherwise.
    int top_of = -1;
    int64_t top_rows = 0;
    // Rows of one group (or all, without grouped_by) come as one: TraceSet::summed_rows is their number, and values of
    // `sums` are ColumnSums (sum_functions.h). No row: there are none.
    bool is_summed = false;
    std::vector<int> sums;
    // Objects of arguments that come as something that only arg() can read (args_json.h).
    std::vector<int> objects;
  };
  // Begins at the first row that may meet the conditions; may be called again.
  virtual Status Start(std::span<const ScanCondition> conditions, const Order& order) = 0;
  virtual bool AtEnd() const = 0;
  virtual Status Next() = 0;
  virtual Result<int64_t> RowId() const = 0;
  virtual Status Column(int column, sqlite3_context* out) = 0;
  // Next and Column without the cost of a Status, when they need no reading and cannot fail; else they do nothing and
  // return false.
  virtual bool NextAtHand() { return false; }
  virtual bool ColumnAtHand(int, sqlite3_context*) { return false; }
};

// A table of traces: its columns, the questions that SQLite may ask of it, and how to go through it.
// RegisterTraceTables makes a virtual table of it. A column here is a promise in docs/sql.md.
struct TraceTable {
  const char* name;
  std::span<const TraceColumn> columns;
  // About how many rows it has, and how many of them lie in a stretch of time (by their own times, if the table has
  // some).
  int64_t (*rows)(TraceSet& set, const TraceTable& table);
  int64_t (*rows_between)(TraceSet& set, int64_t from_ns, int64_t to_ns);  // null: it has no times
  std::unique_ptr<TraceScan> (*open)(TraceSet& set, const TraceTable& table);
  // The greatest number of different values that a column of texts, tracks or runs may have; may read all of the
  // column. Null: the table cannot give rows in the order of such a column.
  int64_t (*groups)(TraceSet& set, int column) = nullptr;
  // The number of different values in a column; 0: it is not known. Null: it is known of no column.
  int64_t (*values)(TraceSet& set, int column) = nullptr;
  // True if its scan can sum rows up (Order::is_summed), and the columns that it has sums of, a bit each.
  bool is_summed = false;
  uint64_t sums = 0;
  // The columns that are objects of arguments, a bit each.
  uint64_t objects = 0;
};

// The tables that are always there. The side tables of parts come in addition (side_tables.h).
std::span<const TraceTable> TraceTables();

const TraceTable& SliceTable();
const TraceTable& InstantTable();
const TraceTable& CounterTable();
const TraceTable& FlowTable();
const TraceTable& FlowPointTable();
const TraceTable& MetadataTable();
const TraceTable& TrackTable();
const TraceTable& PartTable();
const TraceTable& MetricTable();

// The tables that are offered to a connection. SQLite connects a table at its first use, and asks an authorizer then,
// if there is one, about the table's declaration.
struct TableChoice {
  std::function<bool(std::string_view)> is_wanted;  // those that it names; null: all
  std::function<bool(std::string_view)> is_taken;   // a name that is another table's; null: none
};

// Adds the tables to a connection. The parts must be in `set`, which must outlive the connection. Leaves out side
// tables that have the name of another table, here or by `choice`. REQUIRES: called once.
Status RegisterTraceTables(sqlite3* db, TraceSet& set, const TableChoice& choice = {});

}  // namespace kprof
