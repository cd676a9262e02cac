#include "daemon/analysis/sql/column_conditions.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <utility>

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

namespace {

// A match takes the product of both lengths; nobody is asked meanwhile.
constexpr size_t kLongestPattern = 200;
constexpr size_t kLongText = 4096;
constexpr int kTextsPerTest = 256;

}  // namespace

Status TextConditions::Add(const char* function, const char* column, const ScanCondition& condition,
                           bool ignores_case) {
  std::set<std::string, std::less<>> values;
  for (const ScanCell& cell : condition.values) {
    if (std::holds_alternative<std::monostate>(cell)) continue;  // nothing equals it
    const auto* text = std::get_if<std::string>(&cell);
    if (text == nullptr) {
      return Fail(ErrorCode::kUsage, function, std::string(column) + " is compared with what is no text",
                  "write it in single quotes");
    }
    values.insert(*text);
  }
  const std::optional<ScanOp> op = nulls_.Add(condition);
  if (!nulls_.accepts_values()) listed_.emplace();
  only_leaves_out_ = only_leaves_out_ && nulls_.accepts_values() && (!op || op == ScanOp::kNotEqual);
  if (!op) return OkStatus();
  const bool is_pattern = op == ScanOp::kGlob || op == ScanOp::kLike;
  if (is_pattern && !values.empty()) {
    if (values.begin()->size() > kLongestPattern) {
      return Fail(
          ErrorCode::kUsage, function,
          "the pattern for " + std::string(column) + " has more than " + std::to_string(kLongestPattern) + " bytes",
          "make it shorter");
    }
  }
  const bool is_list = op == ScanOp::kEqual || op == ScanOp::kAny;
  if (!values.empty() && (!is_list || (ignores_case && values.size() == 1))) {
    others_.push_back({*op, *values.begin(), ignores_case});
  } else if (listed_) {
    std::erase_if(*listed_, [&](const std::string& text) { return values.count(text) == 0; });
  } else {
    listed_ = std::move(values);
  }
  if (listed_) std::erase_if(*listed_, [&](const std::string& text) { return !MeetsOthers(text); });
  return OkStatus();
}

bool TextConditions::Other::Accepts(const std::string& value) const {
  if (op == ScanOp::kGlob) return sqlite3_strglob(text.c_str(), value.c_str()) == 0;
  if (op == ScanOp::kLike) return sqlite3_strlike(text.c_str(), value.c_str(), 0) == 0;
  const int order = ignores_case ? sqlite3_stricmp(value.c_str(), text.c_str()) : value.compare(text);
  switch (op) {
    case ScanOp::kMore:
      return order > 0;
    case ScanOp::kAtLeast:
      return order >= 0;
    case ScanOp::kLess:
      return order < 0;
    case ScanOp::kAtMost:
      return order <= 0;
    case ScanOp::kNotEqual:
      return order != 0;
    default:
      return order == 0;
  }
}

bool TextConditions::MeetsOthers(std::string_view text) const {
  if (others_.empty()) return true;
  const std::string value(text);
  return std::all_of(others_.begin(), others_.end(), [&](const Other& other) { return other.Accepts(value); });
}

bool TextConditions::Accepts(std::string_view text) const {
  return listed_ ? listed_->count(text) > 0 : MeetsOthers(text);
}

std::function<bool(std::string_view)> TextConditions::Within(TextConditions test, const StopSignal& stop) {
  return [test = std::move(test), stop, asked = 0, is_over = false](std::string_view text) mutable {
    if (++asked % kTextsPerTest == 0 || text.size() > kLongText) is_over = is_over || stop.IsGiven();
    return !is_over && test.Accepts(text);
  };
}

}  // namespace kprof
