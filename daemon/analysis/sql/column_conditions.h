// What conditions of SQL leave of a column of texts, for good: unlike scan_conditions.h, after which
// SQLite compares again.
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

// What conditions on a column say of NULL, and of its values what they say beside that.
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

// What conditions of SQL leave of a column of whole numbers, for good: as column_conditions.h does of texts.
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

class TextConditions {
 public:
  // All of ScanOp; `ignores_case`: of ASCII letters. Fails with kUsage, as `function`, for what is no text or too long
  // a pattern.
  Status Add(const char* function, const char* column, const ScanCondition& condition, bool ignores_case);

  bool is_active() const { return nulls_.is_active(); }
  // Whether a row without a text is left.
  bool accepts_null() const { return nulls_.accepts_null(); }
  // Says only what is not asked for.
  bool only_leaves_out() const { return only_leaves_out_; }
  // The only ones that there may be, each of which is accepted; null: any may be.
  const std::set<std::string, std::less<>>* listed() const { return listed_ ? &*listed_ : nullptr; }
  bool Accepts(std::string_view text) const;

  // For the texts of a part, a million maybe: once the signal is given it says no without looking.
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
  std::vector<Other> others_;  // but = and IN
  NullConditions nulls_;
  bool only_leaves_out_ = true;
};

}  // namespace kprof
