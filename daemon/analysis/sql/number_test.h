// What conditions of SQL leave of a column of whole numbers, for good: as column_conditions.h does of texts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/analysis/sql/null_test.h"
#include "storage/base/status.h"
#include "storage/trace_sql/scan/integer_filter.h"

namespace kprof {

class NumberConditions {
 public:
  // All of ScanOp but patterns. Fails with kUsage, as `function`, for what is no number.
  Status Add(const char* function, const char* column, const ScanCondition& condition);

  bool is_active() const { return nulls_.is_active(); }
  bool accepts_null() const { return nulls_.accepts_null(); }
  bool accepts_values() const { return nulls_.accepts_values() && !range_.is_empty(); }
  bool Accepts(std::optional<int64_t> value) const;
  // Of its values: those in this, without these.
  const IntegerFilter& range() const { return range_; }
  const std::vector<int64_t>& left_out() const { return left_out_; }

 private:
  NullConditions nulls_;
  IntegerFilter range_;
  std::vector<int64_t> left_out_;
};

}  // namespace kprof
