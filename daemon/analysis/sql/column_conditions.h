// What conditions of SQL leave of a column of texts, for good: unlike scan_conditions.h, after which
// SQLite compares again.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/operators/stop_signal.h"
#include "daemon/analysis/sql/null_test.h"
#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_condition.h"

namespace kprof {

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
