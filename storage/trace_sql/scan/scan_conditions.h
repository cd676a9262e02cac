// What conditions leave of a column of texts. Asked by the numbers that texts have in a part, each of which is read and
// compared once. Holds all that SQLite would accept, so that SQLite, which compares again, finds no less than without
// it; patterns are tried on short texts only.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/scan/scan_condition.h"

namespace kprof {

class TextFilter {
 public:
  // One that says nothing of texts (a number) is left to SQLite.
  void Add(const ScanCondition& condition);

  bool is_active() const { return !tests_.empty(); }
  bool is_empty() const { return is_empty_; }
  bool Accepts(std::string_view text) const;
  // The same conditions.
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

// The answers for the numbers of one part.
class TextAnswers {
 public:
  // Both must outlive it. `zero_is_none`: 0 stands for no text, which is never accepted.
  TextAnswers(const TextFilter& filter, OpenPart& part, bool zero_is_none)
      : filter_(filter), part_(part), zero_is_none_(zero_is_none) {}
  // Fails with kStorageBroken where there is no such text.
  Result<bool> Accepts(int64_t id) {
    if (id >= 0 && id < static_cast<int64_t>(answers_.size())) {
      const Answer answer = answers_[static_cast<size_t>(id)];
      if (answer != kUnknown) return answer == kYes;
    }
    return Ask(id);
  }

 private:
  enum Answer : uint8_t { kUnknown, kNo, kYes };
  Result<bool> Ask(int64_t id);

  const TextFilter& filter_;
  OpenPart& part_;
  const bool zero_is_none_;
  std::vector<Answer> answers_;
  int64_t asked_ = 0;
};

}  // namespace kprof
