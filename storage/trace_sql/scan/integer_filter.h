// What conditions leave of a column of integers: those in a range and, where there is one, in a list. Holds all that
// SQLite would accept, so that SQLite, which compares again, finds no less than without it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "storage/trace_sql/scan/scan_condition.h"

namespace kprof {

class IntegerFilter {
 public:
  // One that says nothing of integers (a text, a blob) is left to SQLite.
  void Add(const ScanCondition& condition);
  void KeepOnly(std::vector<int64_t> values);
  void KeepBetween(int64_t least, int64_t most);

  bool is_active() const { return is_active_; }
  bool is_empty() const { return min_ > max_ || (any_ && any_->empty()); }
  int64_t min() const { return min_; }
  int64_t max() const { return max_; }
  // In ascending order, those in the range; null where all are.
  const std::vector<int64_t>* list() const { return any_ ? &*any_ : nullptr; }
  std::optional<int64_t> only() const;

  // No value (kNoValue) is never accepted by one that is active.
  bool Accepts(int64_t value) const {
    if (!is_active_) return true;
    if (value < min_ || value > max_) return false;
    return !any_ || IsListed(value);
  }
  // Whether there may be one between these.
  bool Touches(int64_t least, int64_t most) const;
  // The same for the numbers of a part, where this one is for ids of SQL.
  IntegerFilter NumbersOf(int64_t part) const;
  // The same for a part's own correlations, where this one is for those of SQL; it may accept some more.
  IntegerFilter CorrelationsOf(int64_t part) const;

 private:
  bool IsListed(int64_t value) const;
  void Trim();

  bool is_active_ = false;
  int64_t min_ = std::numeric_limits<int64_t>::min() + 1;
  int64_t max_ = std::numeric_limits<int64_t>::max();
  std::optional<std::vector<int64_t>> any_;
};

}  // namespace kprof
