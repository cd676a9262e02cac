// Traces as SQL's tables: slice, instant, counter, flow, flow_point, metadata, track, trace and metric, the side tables
// of the set's parts under their own names, and the function arg.
// Conditions are handed inside where they narrow what is read (scan_plan.h); columns are decoded when a value of them
// is asked for.
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

// Values of ours as results of SQLite's.
inline void ResultInteger(sqlite3_context* out, int64_t value) {
  if (value != kNoValue) sqlite3_result_int64(out, value);
}
inline void ResultInteger(sqlite3_context* out, std::optional<int64_t> value) {
  if (value) sqlite3_result_int64(out, *value);
}
// Of what lives as long as the connection.
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

// What a table of traces is: its columns, what SQLite may ask of them, and how it is gone through. trace_tables.h makes
// a virtual table of it. A column here is a promise in docs/sql.md.

// What conditions on a column are worth. Those on others than kPlain and kNone are looked up or narrow a search.
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
  // From the first row that may meet the conditions on; may be called again. `grouped_by`: a column in whose order rows
  // must come, or -1; `read`: the columns beside it that are read then, and no others; `one_each`: one row for each
  // value of it will do. (For GROUP BY alone it would do that equal
  // values come together; but SQLite 3.40 says the same where ORDER BY follows that wants no more than that order.)
  struct Order {
    int grouped_by = -1;
    bool one_each = false;
    bool is_descending = false;
    std::vector<int> read;
  };
  virtual Status Start(std::span<const ScanCondition> conditions, const Order& order) = 0;
  virtual bool AtEnd() const = 0;
  virtual Status Next() = 0;
  virtual Result<int64_t> RowId() const = 0;
  virtual Status Column(int column, sqlite3_context* out) = 0;
  // The same where it takes no reading and cannot fail, without the cost of a Status; else they do nothing and are
  // false.
  virtual bool NextAtHand() { return false; }
  virtual bool ColumnAtHand(int, sqlite3_context*) { return false; }
};

struct TraceTable {
  const char* name;
  std::span<const TraceColumn> columns;
  // How many rows it has, about, and how many of them lie in a stretch of time (by their own times, where the table has
  // some).
  int64_t (*rows)(TraceSet& set, const TraceTable& table);
  int64_t (*rows_between)(TraceSet& set, int64_t from_ns, int64_t to_ns);  // null: it has no times
  std::unique_ptr<TraceScan> (*open)(TraceSet& set, const TraceTable& table);
  // Null where it cannot give rows in the order of a text, of tracks or of runs; else how many different values there
  // are at most of such a column. May read all of it.
  int64_t (*groups)(TraceSet& set, int column) = nullptr;
  // How many different values a column has, where that is known; 0: it is not. Null: of none.
  int64_t (*values)(TraceSet& set, int column) = nullptr;
};

// The tables that are always there; side tables that parts bring along come besides (side_tables.h).
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

// Adds them to a connection. The parts must be in `set`, which must outlive the connection. Side tables of a name that
// is another table's, here or by `is_taken`, are not shown.
// REQUIRES: called once, before an authorizer is set (it would be asked about the tables' declarations).
Status RegisterTraceTables(sqlite3* db, TraceSet& set, const std::function<bool(std::string_view)>& is_taken = nullptr);

}  // namespace kprof
