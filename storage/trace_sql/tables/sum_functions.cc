#include "storage/trace_sql/tables/sum_functions.h"

#include <new>

namespace kprof {
namespace {

constexpr const char* kSumPointer = "kprof_column_sum";

// Empty: there was no row.
struct Summed {
  int64_t rows;
  bool has_sum;
  ColumnSum sum;
};

Summed* SummedIn(sqlite3_context* context) {
  return static_cast<Summed*>(sqlite3_aggregate_context(context, sizeof(Summed)));
}

void AddSum(Summed& summed, const ColumnSum& more) {
  if (more.count == 0) return;
  if (summed.has_sum) {
    summed.sum.Merge(more);
  } else {
    summed.sum = more;
    summed.has_sum = true;
  }
}

// An argument that is no sum is a number that is the same in all rows.
void Step(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  Summed* summed = SummedIn(context);
  if (summed == nullptr) return sqlite3_result_error_nomem(context);
  const auto* sum = count == 0 ? nullptr : static_cast<const ColumnSum*>(sqlite3_value_pointer(values[0], kSumPointer));
  if (sum != nullptr) {
    summed->rows += sum->count;
    AddSum(*summed, *sum);
  } else if (count == 0 || sqlite3_value_type(values[0]) != SQLITE_NULL) {
    summed->rows += static_cast<const TraceSet*>(sqlite3_user_data(context))->summed_rows();
  }
}

// Null when no row had a value.
const ColumnSum* SumIn(sqlite3_context* context) {
  const auto* summed = static_cast<Summed*>(sqlite3_aggregate_context(context, 0));
  return summed != nullptr && summed->has_sum ? &summed->sum : nullptr;
}

void Count(sqlite3_context* context) noexcept {
  const auto* summed = static_cast<Summed*>(sqlite3_aggregate_context(context, 0));
  sqlite3_result_int64(context, summed == nullptr ? 0 : summed->rows);
}

void Sum(sqlite3_context* context) noexcept {
  const ColumnSum* sum = SumIn(context);
  if (sum == nullptr) return;
  if (sum->is_over) return sqlite3_result_error(context, "integer overflow", -1);
  sqlite3_result_int64(context, sum->sum);
}

void Total(sqlite3_context* context) noexcept {
  const ColumnSum* sum = SumIn(context);
  sqlite3_result_double(context, sum == nullptr ? 0.0 : sum->real_sum);
}

void Average(sqlite3_context* context) noexcept {
  if (const ColumnSum* sum = SumIn(context)) {
    sqlite3_result_double(context, sum->real_sum / static_cast<double>(sum->count));
  }
}

void Least(sqlite3_context* context) noexcept {
  if (const ColumnSum* sum = SumIn(context)) sqlite3_result_int64(context, sum->min);
}

void Greatest(sqlite3_context* context) noexcept {
  if (const ColumnSum* sum = SumIn(context)) sqlite3_result_int64(context, sum->max);
}

struct SumFunction {
  const char* name;
  int arguments;
  void (*finish)(sqlite3_context*) noexcept;
};

constexpr SumFunction kSumFunctions[] = {{"count", 0, Count}, {"count", 1, Count}, {"sum", 1, Sum},
                                         {"total", 1, Total}, {"avg", 1, Average}, {"min", 1, Least},
                                         {"max", 1, Greatest}};

}  // namespace

void ResultSum(sqlite3_context* out, const ColumnSum& sum) {
  sqlite3_result_pointer(out, const_cast<ColumnSum*>(&sum), kSumPointer, nullptr);
}

int RegisterSumFunctions(sqlite3* db, TraceSet& set) {
  for (const SumFunction& function : kSumFunctions) {
    const int result = sqlite3_create_function(db, function.name, function.arguments,
                                               SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, &set, nullptr,
                                               Step, function.finish);
    if (result != SQLITE_OK) return result;
  }
  return SQLITE_OK;
}

}  // namespace kprof
