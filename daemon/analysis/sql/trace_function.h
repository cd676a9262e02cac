// A function of traces for SQL: its columns, and the call behind it. table_functions.h makes a table of it that takes
// arguments: `FROM sum_by('name') WHERE category = 'kernel'`. A column here is a promise in docs/sql.md.
//
// On the query's thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "daemon/analysis/sql/slice_choice.h"
#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// By their places; nothing: it is not given.
using FunctionArguments = std::span<const std::optional<ScanCell>>;

struct FunctionColumn {
  enum class Use : uint8_t {
    kAnswer,    // `which` is a number of the answer's own
    kArgument,  // hidden; `which` is its place among the arguments
    kField,     // `which` is a SliceField
  };
  const char* name = "";
  const char* type = "";
  Use use = Use::kAnswer;
  int which = 0;
  bool is_hidden = false;
  bool is_costly = false;  // of the answer: not made unless it is read
};

struct FunctionCall {
  const char* function;
  TraceSet& set;
  FunctionArguments arguments;
  const SliceChoice& slices;
  uint64_t costly;  // bit `which` of each costly column that is read
  const StopSignal& stop;
};

// The rows that a call gave: all at once or, if they are many, in windows.
class FunctionAnswer {
 public:
  virtual ~FunctionAnswer() = default;
  virtual size_t size() const = 0;
  // Goes on to the next window: from then on the rows are its. False: there is none, and the last window stays. Called
  // within TraceSet's terms().Aside.
  virtual kprof::Result<bool> NextWindow() { return false; }
  // About the memory that it holds, without the part that it has asked the query for by itself.
  virtual int64_t size_bytes() const = 0;
  virtual void Result(size_t row, int which, sqlite3_context* out) const = 0;
  // False: its rows have no such field.
  virtual bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const = 0;
};

struct TraceFunction {
  const char* name;
  size_t arguments;  // at most
  std::vector<FunctionColumn> columns;
  // Fails with kUsage for arguments that it does not know, and as the operators do.
  Result<std::unique_ptr<FunctionAnswer>> (*call)(const FunctionCall& call);
  // True if rows of such a call have that field.
  bool (*has_field)(FunctionArguments arguments, SliceField field);
  double rows_of_slice = 0;  // for the planner: the number of rows for each slice, for functions with many
};

// Fails with "sum_by: <why>; <remedy>".
inline Status FailCall(const char* function, std::string why, std::string remedy) {
  return Fail(ErrorCode::kUsage, function, std::move(why), std::move(remedy));
}

// The columns of a function: the fields `shown`, then `answers`. Hidden ones follow: `arguments`, one for any further
// argument, and all other fields.
std::vector<FunctionColumn> ColumnsOf(std::span<const SliceField> shown, std::span<const FunctionColumn> answers,
                                      std::span<const char* const> arguments);

// All functions that there are.
std::span<const TraceFunction> TraceFunctions();

TraceFunction SumBy();
TraceFunction SelfTimeBy();
TraceFunction BusyOf();
TraceFunction GapsOf();
TraceFunction OverlapOf();
TraceFunction HistogramOf();
TraceFunction TilesOf();
TraceFunction InstantTilesOf();
TraceFunction CounterTilesOf();
TraceFunction CorrelatedOf();

}  // namespace kprof
