// Conditions of SQL on a column of texts or whole numbers. They decide for good, unlike those of scan_conditions.h,
// after which SQLite compares again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_conditions.h"

namespace kprof {

// The part of the conditions on a column that is about NULL.
class NullConditions {
 public:
  // Notes what the condition says about NULL. Returns the op for the values: none of IS, IS NOT and IS NULL. Nothing:
  // the condition asks no more of them.
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

// The conditions on a column of whole numbers.
class NumberConditions {
 public:
  // Takes any ScanOp but patterns. Fails with kUsage, as `function`, for a value that is no number.
  Status Add(const char* function, const char* column, const ScanCondition& condition);

  bool is_active() const { return nulls_.is_active(); }
  bool accepts_null() const { return nulls_.accepts_null(); }
  bool accepts_values() const { return nulls_.accepts_values() && !range_.is_empty(); }
  bool Accepts(std::optional<int64_t> value) const;
  // Values are accepted that are in range(), and not in left_out().
  const IntegerFilter& range() const { return range_; }
  const std::vector<int64_t>& left_out() const { return left_out_; }

 private:
  NullConditions nulls_;
  IntegerFilter range_;
  std::vector<int64_t> left_out_;
};

// The conditions on a column of texts.
class TextConditions {
 public:
  // Takes any ScanOp; `ignores_case`: of ASCII letters. Fails with kUsage, as `function`, for a value that is no text,
  // and for a pattern that is too long.
  Status Add(const char* function, const char* column, const ScanCondition& condition, bool ignores_case);

  bool is_active() const { return nulls_.is_active(); }
  // True: a row without a text is accepted.
  bool accepts_null() const { return nulls_.accepts_null(); }
  // True: the conditions only leave some texts out.
  bool only_leaves_out() const { return only_leaves_out_; }
  // The only texts that are accepted; null: others may be, too.
  const std::set<std::string, std::less<>>* listed() const { return listed_ ? &*listed_ : nullptr; }
  bool Accepts(std::string_view text) const;

  // A test for all texts of a part, maybe a million: once `stop` is given, it returns false without looking.
  static std::function<bool(std::string_view)> Within(TextConditions test, const StopSignal& stop);

 private:
  struct Other {
    ScanOp op = ScanOp::kGlob;
    std::string text;
    bool ignores_case = false;
    bool Accepts(const std::string& value) const;
  };
  bool MeetsOthers(std::string_view text) const;

  std::optional<std::set<std::string, std::less<>>> listed_;
  std::vector<Other> others_;  // conditions that are no lists
  NullConditions nulls_;
  bool only_leaves_out_ = true;
};

}  // namespace kprof
