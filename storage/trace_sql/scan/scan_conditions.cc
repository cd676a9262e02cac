#include "storage/trace_sql/scan/scan_conditions.h"

#include <sqlite3.h>

#include <algorithm>

namespace kprof {
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
