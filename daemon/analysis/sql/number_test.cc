#include "daemon/analysis/sql/number_test.h"

#include <algorithm>
#include <string>

namespace kprof {
namespace {

bool IsNumberOrNull(const ScanCell& cell) {
  return std::holds_alternative<std::monostate>(cell) || std::holds_alternative<int64_t>(cell) ||
         std::holds_alternative<double>(cell);
}

}  // namespace

Status NumberConditions::Add(const char* function, const char* column, const ScanCondition& condition) {
  if (!std::all_of(condition.values.begin(), condition.values.end(), IsNumberOrNull)) {
    return Fail(ErrorCode::kUsage, function, std::string(column) + " is compared with what is no number",
                "write a number, without quotes");
  }
  const std::optional<ScanOp> op = nulls_.Add(condition);
  if (!op) return OkStatus();
  const bool is_left_out = op == ScanOp::kNotEqual;
  const ScanCondition plain{condition.column, is_left_out ? ScanOp::kEqual : *op, condition.values};
  if (!is_left_out) {
    range_.Add(plain);
    return OkStatus();
  }
  if (std::holds_alternative<std::monostate>(condition.values.front())) {
    range_.KeepOnly({});  // nothing is other than NULL
    return OkStatus();
  }
  IntegerFilter one;
  one.Add(plain);
  if (one.only()) left_out_.push_back(*one.only());
  return OkStatus();
}

bool NumberConditions::Accepts(std::optional<int64_t> value) const {
  if (!value) return accepts_null();
  return accepts_values() && range_.Accepts(*value) &&
         std::find(left_out_.begin(), left_out_.end(), *value) == left_out_.end();
}

}  // namespace kprof
