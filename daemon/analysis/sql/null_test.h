// What conditions on a column say of NULL, and of its values what they say beside that.
#pragma once

#include <optional>

#include "storage/trace_sql/scan/scan_condition.h"

namespace kprof {

class NullConditions {
 public:
  // What it asks of values: an op but IS, IS NOT and IS NULL. Nothing: no more than is noted here.
  std::optional<ScanOp> Add(const ScanCondition& condition) {
    is_active_ = true;
    const bool is_with_null =
        condition.values.size() == 1 && std::holds_alternative<std::monostate>(condition.values.front());
    if (condition.op == ScanOp::kIsNot && !is_with_null) return ScanOp::kNotEqual;
    if (condition.op == ScanOp::kNull || (condition.op == ScanOp::kIs && is_with_null)) {
      accepts_values_ = false;
      return std::nullopt;
    }
    accepts_null_ = false;
    if (condition.op == ScanOp::kIsNot) return std::nullopt;
    return condition.op == ScanOp::kIs ? ScanOp::kEqual : condition.op;
  }

  bool is_active() const { return is_active_; }
  bool accepts_null() const { return accepts_null_; }
  bool accepts_values() const { return accepts_values_; }

 private:
  bool is_active_ = false;
  bool accepts_null_ = true;
  bool accepts_values_ = true;
};

}  // namespace kprof
