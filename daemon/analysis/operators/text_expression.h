// A regular expression over texts, in time that is the product of both lengths at most, whatever the expression: a
// machine that is in all of its states at once (after Thompson), with no way back and no recursion over the text.
//
// Signs: . any character; [abc], [a-z], [^...] classes; \d \w \s and \D \W \S digits, word characters, spaces and all
// others; * + ? {n} {n,} {n,m} repeats; | or; ( ) and (?: ) groups; ^ and $ the begin and the end of the text; \t a
// tab, \ before another sign that sign itself. There are no back references, no looking ahead and no flags. Characters
// are those of UTF-8; a byte that is none of it is a character of its own.
//
// A value; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

class TextExpression {
 public:
  static constexpr size_t kMostStates = 2'000;
  static constexpr size_t kMostGroups = 32;  // within each other
  static constexpr int64_t kMostRepeats = 255;

  // `act` is what the expression is read for, in complaints: "read option source". Fails with kUsage at a sign that is
  // none of the above, and where there would be more than kMostStates.
  static Result<TextExpression> Read(std::string_view text, std::string_view act);

  // True if a part of the text fits.
  bool Fits(std::string_view text) const;

 private:
  friend class ExpressionReader;
  friend class ExpressionMaker;

  // Characters from the first to the second of each, or all others.
  struct Set {
    std::vector<std::pair<char32_t, char32_t>> ranges;
    bool is_others = false;
    bool Has(char32_t character) const;
  };
  enum class Step : uint8_t { kSet, kFork, kBegin, kEnd, kFits };
  // One state. kSet: with a character of set `one` on to the next state. kFork: on to `one` and to `other` at once.
  struct State {
    Step step = Step::kFits;
    size_t one = 0;
    size_t other = 0;
  };

  std::vector<Set> sets_;
  std::vector<State> states_;
};

}  // namespace kprof
