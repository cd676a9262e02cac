// A condition on a column that SQLite hands to a table, with its value. In the text of a plan it is a word: the
// column's name and one of these: = =any > >= < <= :glob :like <> :is :isnot :null. The
// last four are for who leaves out (daemon/trace_functions): tables leave them to SQLite.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kprof {

enum class ScanOp { kEqual, kAny, kMore, kAtLeast, kLess, kAtMost, kGlob, kLike, kNotEqual, kIs, kIsNot, kNull };

// As a plan writes it.
std::string_view ScanOpText(ScanOp op);
constexpr bool IsRange(ScanOp op) {
  return op == ScanOp::kMore || op == ScanOp::kAtLeast || op == ScanOp::kLess || op == ScanOp::kAtMost;
}

// Other: a blob.
struct OtherCell {
  bool operator==(const OtherCell&) const = default;
};
using ScanCell = std::variant<std::monostate, int64_t, double, std::string, OtherCell>;

struct ScanCondition {
  int column = 0;
  ScanOp op = ScanOp::kEqual;
  std::vector<ScanCell> values;  // one, or those of kAny; of kNull it is NULL

  bool operator==(const ScanCondition&) const = default;
};

// A word of a plan taken apart; nothing where it is no condition.
struct ScanWord {
  std::string_view column;
  ScanOp op = ScanOp::kEqual;
};
std::optional<ScanWord> ReadScanWord(std::string_view word);

}  // namespace kprof
