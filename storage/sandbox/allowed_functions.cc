#include "storage/sandbox/allowed_functions.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "storage/sandbox/ascii_case.h"

namespace kprof {
namespace {

constexpr std::string_view kAllowed[] = {
    // Operators that are functions inside; json's too.
    "->", "->>", "glob", "like",
    // Of one row.
    "abs", "char", "coalesce", "format", "hex", "ifnull", "iif", "instr", "length", "likelihood", "likely", "lower",
    "ltrim", "max", "min", "nullif", "printf", "quote", "random", "randomblob", "replace", "round", "rtrim", "sign",
    "soundex", "substr", "substring", "trim", "typeof", "unicode", "unlikely", "upper", "zeroblob",
    // Mathematics.
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh", "degrees", "exp",
    "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc",
    // Date and time.
    "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time",
    "unixepoch",
    // Of many rows.
    "avg", "count", "group_concat", "json_group_array", "json_group_object", "sum", "total",
    // Of a window.
    "cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile", "percent_rank", "rank",
    "row_number",
    // JSON.
    "json", "json_array", "json_array_length", "json_extract", "json_insert", "json_object", "json_quote",
    "json_remove", "json_replace", "json_set", "json_type", "json_valid"};

}  // namespace

bool IsAllowedFunction(std::string_view name) {
  return std::find(std::begin(kAllowed), std::end(kAllowed), AsciiLower(name)) != std::end(kAllowed);
}

}  // namespace kprof
