// What a table of traces is: its columns, what SQLite may ask of them, and how it is gone through. trace_tables.h makes
// a virtual table of it. A column here is a promise in docs/sql.md.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_condition.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

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

}  // namespace kprof
