#include "storage/trace_sql/scan/scan_conditions.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "storage/trace_sql/parts/open_part.h"

namespace kprof {
namespace {

constexpr std::array<std::string_view, 12> kTexts = {
    "=", "=any", ">", ">=", "<", "<=", ":glob", ":like", "<>", ":is", ":isnot", ":null"};

}  // namespace

std::string_view ScanOpText(ScanOp op) {
  return kTexts[static_cast<size_t>(op)];
}

std::optional<ScanWord> ReadScanWord(std::string_view word) {
  const size_t at = word.find_first_of("=<>:");
  if (at == std::string_view::npos) return std::nullopt;
  for (size_t i = 0; i < kTexts.size(); ++i) {
    if (word.substr(at) == kTexts[i]) return ScanWord{word.substr(0, at), static_cast<ScanOp>(i)};
  }
  return std::nullopt;
}

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min() + 1;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr double kTwoTo63 = 9223372036854775808.0;

struct Range {
  int64_t min = kLeast;
  int64_t max = kMost;
};
constexpr Range kNone{1, 0};

Range Compare(ScanOp op, int64_t value) {
  switch (op) {
    case ScanOp::kMore:
      return value == kMost ? kNone : Range{value + 1, kMost};
    case ScanOp::kAtLeast:
      return {value, kMost};
    case ScanOp::kLess:
      return value <= kLeast ? kNone : Range{kLeast, value - 1};
    case ScanOp::kAtMost:
      return {kLeast, value};
    default:
      return {value, value};
  }
}

// Of integers with a real one, as SQLite does it: by their exact values.
Range Compare(ScanOp op, double value) {
  const bool up = op == ScanOp::kMore || op == ScanOp::kAtLeast;
  if (value >= kTwoTo63) return up || !IsRange(op) ? kNone : Range{};
  if (value < -kTwoTo63) return up ? Range{} : kNone;
  const double whole = std::floor(value);
  if (whole == value) return Compare(op, static_cast<int64_t>(value));
  if (!IsRange(op)) return kNone;
  return up ? Compare(ScanOp::kMore, static_cast<int64_t>(whole))
            : Compare(ScanOp::kAtMost, static_cast<int64_t>(whole));
}

// Nothing: it says nothing of integers.
std::optional<Range> Compare(ScanOp op, const ScanCell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return kNone;
  if (const auto* integer = std::get_if<int64_t>(&cell)) return Compare(op, *integer);
  if (const auto* real = std::get_if<double>(&cell)) return Compare(op, *real);
  return std::nullopt;
}

}  // namespace

void IntegerFilter::Add(const ScanCondition& condition) {
  if (condition.op != ScanOp::kAny) {
    const std::optional<Range> range = Compare(condition.op, condition.values.at(0));
    if (range) KeepBetween(range->min, range->max);
    return;
  }
  std::vector<int64_t> values;
  for (const ScanCell& cell : condition.values) {
    const std::optional<Range> range = Compare(ScanOp::kEqual, cell);
    if (!range) return;
    if (range->min <= range->max) values.push_back(range->min);
  }
  KeepOnly(std::move(values));
}

void IntegerFilter::KeepOnly(std::vector<int64_t> values) {
  is_active_ = true;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (any_) {
    std::vector<int64_t> both;
    std::set_intersection(any_->begin(), any_->end(), values.begin(), values.end(), std::back_inserter(both));
    values = std::move(both);
  }
  any_ = std::move(values);
  Trim();
}

void IntegerFilter::KeepBetween(int64_t least, int64_t most) {
  is_active_ = true;
  min_ = std::max(min_, least);
  max_ = std::min(max_, most);
  Trim();
}

void IntegerFilter::Trim() {
  if (!any_) return;
  std::erase_if(*any_, [&](int64_t value) { return value < min_ || value > max_; });
}

std::optional<int64_t> IntegerFilter::only() const {
  if (any_) return any_->size() == 1 ? std::optional(any_->front()) : std::nullopt;
  return min_ == max_ ? std::optional(min_) : std::nullopt;
}

bool IntegerFilter::IsListed(int64_t value) const {
  return std::binary_search(any_->begin(), any_->end(), value);
}

bool IntegerFilter::Touches(int64_t least, int64_t most) const {
  if (!is_active_) return true;
  if (most < min_ || least > max_) return false;
  if (!any_) return true;
  const auto first = std::lower_bound(any_->begin(), any_->end(), least);
  return first != any_->end() && *first <= most;
}

IntegerFilter IntegerFilter::NumbersOf(int64_t part) const {
  IntegerFilter numbers;
  if (!is_active_) return numbers;
  const int64_t first = SqlId(part, 0);
  const int64_t last = SqlId(part, kMostSqlRows - 1);
  if (!Touches(first, last)) {
    numbers.KeepOnly({});
    return numbers;
  }
  numbers.KeepBetween(std::max(min_, first) - first, std::min(max_, last) - first);
  if (any_) {
    std::vector<int64_t> values;
    for (const int64_t value : *any_) {
      if (value >= first && value <= last) values.push_back(value - first);
    }
    numbers.KeepOnly(std::move(values));
  }
  return numbers;
}

IntegerFilter IntegerFilter::CorrelationsOf(int64_t part) const {
  if (!is_active_ || part == 0) return *this;
  IntegerFilter own;
  const int64_t first = FirstSqlCorrelation(part);
  const int64_t last = first + (kSqlCorrelations - 1);
  if (any_ || min_ == max_) {
    std::vector<int64_t> values;
    for (const int64_t value : any_ ? *any_ : std::vector<int64_t>{min_}) {
      if (value >= first && value <= last) values.push_back(value - first);
      if (!FitsSqlCorrelation(value)) values.push_back(value);
    }
    own.KeepOnly(std::move(values));
    return own;
  }
  // What is of the part, what lies below, and above: from the first of these that there are to the last.
  int64_t least = kMost;
  int64_t most = kLeast;
  const auto add = [&](int64_t from, int64_t to) {
    if (from > to) return;
    least = std::min(least, from);
    most = std::max(most, to);
  };
  if (max_ >= first && min_ <= last) add(std::max(min_, first) - first, std::min(max_, last) - first);
  add(min_, std::min(max_, int64_t{-1}));
  add(std::max(min_, kSqlCorrelations), max_);
  own.KeepBetween(least, most);
  return own;
}

namespace {

// Longer ones are left to SQLite, whose functions have a bound on their time (sandbox/bounded_functions.h).
constexpr size_t kLongestPattern = 200;
constexpr size_t kLongestMatched = 4096;
constexpr int64_t kMostAnswers = 1 << 22;
constexpr int64_t kAskedPerClockReading = 256;

}  // namespace

void TextFilter::Add(const ScanCondition& condition) {
  Test test;
  test.op = condition.op;
  for (const ScanCell& cell : condition.values) {
    if (std::holds_alternative<std::monostate>(cell)) continue;  // nothing equals it
    const auto* text = std::get_if<std::string>(&cell);
    if (text == nullptr) return;
    if (condition.op == ScanOp::kGlob || condition.op == ScanOp::kLike) {
      if (text->size() > kLongestPattern || text->find('\0') != std::string::npos) return;
      test.pattern = *text;
    }
    test.any.insert(*text);
  }
  if (test.any.empty()) is_empty_ = true;
  tests_.push_back(std::move(test));
}

bool TextFilter::Accepts(std::string_view text) const {
  const bool is_long = text.size() > kLongestMatched || text.find('\0') != std::string_view::npos;
  return !is_empty_ && std::all_of(tests_.begin(), tests_.end(), [&](const Test& test) {
    if (test.op == ScanOp::kGlob)
      return is_long || sqlite3_strglob(test.pattern.c_str(), std::string(text).c_str()) == 0;
    if (test.op == ScanOp::kLike) {
      return is_long || sqlite3_strlike(test.pattern.c_str(), std::string(text).c_str(), 0) == 0;
    }
    return test.any.count(text) > 0;
  });
}

Result<bool> TextAnswers::Ask(int64_t id) {
  if (id == 0 && zero_is_none_) return false;
  if (++asked_ % kAskedPerClockReading == 0) RETURN_IF_ERROR(part_.CheckTime());
  ASSIGN_OR_RETURN(const PartText text, part_.ReadText(id));
  const bool accepts = filter_.Accepts(text.view());
  if (id >= kMostAnswers) return accepts;
  if (id >= static_cast<int64_t>(answers_.size())) {
    answers_.resize(static_cast<size_t>(std::max<int64_t>(id + 1, 2 * static_cast<int64_t>(answers_.size()))));
  }
  answers_[static_cast<size_t>(id)] = accepts ? kYes : kNo;
  return accepts;
}

}  // namespace kprof
