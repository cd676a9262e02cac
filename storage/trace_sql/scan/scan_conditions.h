// The conditions of a query on columns, and filters of integers and texts made of them. A filter accepts all values
// that SQLite would accept. SQLite compares again, so it finds no fewer rows than without the filter.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

// The operator of a condition on a column that SQLite hands to a table. In the text of a plan a condition is a word:
// the column's name and one of these: = =any > >= < <= :glob :like <> :is :isnot :null. The last four are for table
// functions (daemon/analysis/sql); tables leave them to SQLite.
enum class ScanOp { kEqual, kAny, kMore, kAtLeast, kLess, kAtMost, kGlob, kLike, kNotEqual, kIs, kIsNot, kNull };

// The operator as a plan writes it.
std::string_view ScanOpText(ScanOp op);
constexpr bool IsRange(ScanOp op) {
  return op == ScanOp::kMore || op == ScanOp::kAtLeast || op == ScanOp::kLess || op == ScanOp::kAtMost;
}

// Stands for a blob.
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

// A word of a plan taken apart; nothing for a word that is no condition.
struct ScanWord {
  std::string_view column;
  ScanOp op = ScanOp::kEqual;
};
std::optional<ScanWord> ReadScanWord(std::string_view word);

// The integers that conditions leave of a column: those in a range and, if there is one, in a list.
class IntegerFilter {
 public:
  // A condition that says nothing of integers (a text, a blob) is left to SQLite.
  void Add(const ScanCondition& condition);
  void KeepOnly(std::vector<int64_t> values);
  void KeepBetween(int64_t least, int64_t most);

  bool is_active() const { return is_active_; }
  bool is_empty() const { return min_ > max_ || (any_ && any_->empty()); }
  int64_t min() const { return min_; }
  int64_t max() const { return max_; }
  // The list in ascending order, as far as it is in the range; null: all in the range.
  const std::vector<int64_t>* list() const { return any_ ? &*any_ : nullptr; }
  std::optional<int64_t> only() const;

  // An active filter never accepts kNoValue.
  bool Accepts(int64_t value) const {
    if (!is_active_) return true;
    if (value < min_ || value > max_) return false;
    return !any_ || IsListed(value);
  }
  // True if it may accept a number between these.
  bool Touches(int64_t least, int64_t most) const;
  // For a filter of SQL's ids: the same filter of the part's own numbers.
  IntegerFilter NumbersOf(int64_t part) const;
  // For a filter of SQL's correlations: the same filter of the part's own; it may accept some more.
  IntegerFilter CorrelationsOf(int64_t part) const;

 private:
  bool IsListed(int64_t value) const;
  void Trim();

  bool is_active_ = false;
  int64_t min_ = std::numeric_limits<int64_t>::min() + 1;
  int64_t max_ = std::numeric_limits<int64_t>::max();
  std::optional<std::vector<int64_t>> any_;
};

// The texts that conditions leave of a column. Patterns are tried on short texts only; long texts pass.
class TextFilter {
 public:
  // A condition that says nothing of texts (a number) is left to SQLite.
  void Add(const ScanCondition& condition);

  bool is_active() const { return !tests_.empty(); }
  bool is_empty() const { return is_empty_; }
  bool Accepts(std::string_view text) const;
  // True for the same conditions.
  bool operator==(const TextFilter& other) const { return tests_ == other.tests_ && is_empty_ == other.is_empty_; }

 private:
  struct Test {
    ScanOp op = ScanOp::kEqual;
    std::set<std::string, std::less<>> any;
    std::string pattern;
    bool operator==(const Test& other) const { return op == other.op && any == other.any && pattern == other.pattern; }
  };
  std::vector<Test> tests_;
  bool is_empty_ = false;
};

// A TextFilter's answers for the texts of one part, by their numbers: each text is read and compared once.
class TextAnswers {
 public:
  // Both must outlive it. `zero_is_none`: 0 stands for no text, which is never accepted.
  TextAnswers(const TextFilter& filter, OpenPart& part, bool zero_is_none)
      : filter_(filter), part_(part), zero_is_none_(zero_is_none) {}
  enum Answer : uint8_t { kUnknown, kNo, kYes };
  // The answer for a text, as far as it is known without reading it.
  Answer Known(int64_t id) const {
    return static_cast<uint64_t>(id) < answers_.size() ? answers_[static_cast<size_t>(id)] : kUnknown;
  }
  // Fails with kStorageBroken where there is no such text.
  Result<bool> Accepts(int64_t id) {
    const Answer answer = Known(id);
    return answer != kUnknown ? Result<bool>(answer == kYes) : Ask(id);
  }

 private:
  Result<bool> Ask(int64_t id);

  const TextFilter& filter_;
  OpenPart& part_;
  const bool zero_is_none_;
  std::vector<Answer> answers_;
  int64_t asked_ = 0;
};

}  // namespace kprof
