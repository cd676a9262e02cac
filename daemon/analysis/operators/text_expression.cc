#include "daemon/analysis/operators/text_expression.h"

#include <algorithm>
#include <optional>
#include <string>

namespace kprof {
namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;
constexpr int64_t kNoLimit = -1;

// The character at a place, and on to the next one.
char32_t TakeCharacter(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  char32_t made = more == 3 ? first & 0x07U : more == 2 ? first & 0x0FU : more == 1 ? first & 0x1FU : first;
  bool is_whole = first < 0x80 || (more > 0 && first < 0xF8 && at + more < text.size());
  for (size_t i = 1; is_whole && i <= more; ++i) {
    is_whole = (byte(at + i) & 0xC0U) == 0x80;
    made = (made << 6) | (byte(at + i) & 0x3FU);
  }
  at += is_whole ? more + 1 : 1;
  return is_whole ? made : kLastCharacter + 1 + first;
}

// A part of an expression that was read.
struct ExpressionPart {
  enum class Kind : uint8_t { kSet, kBegin, kEnd, kAll, kAny, kRepeat };
  Kind kind = Kind::kAll;
  size_t set = 0;
  std::vector<size_t> parts;  // of kAll one after the other, of kAny one of them, of kRepeat the one
  int64_t least = 0;
  int64_t most = kNoLimit;
};

}  // namespace

// Reads signs into parts. Recursion: that of groups within groups, kMostGroups at most.
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, std::string_view act, TextExpression& made)
      : text_(text), act_(act), made_(made) {}

  Result<size_t> Read() {
    ASSIGN_OR_RETURN(const size_t whole, ReadAny(0));
    if (at_ < text_.size()) return Mistake(at_, "a ) has no ( before it", "take one away, or write \\)");
    return whole;
  }
  const std::vector<ExpressionPart>& parts() const { return parts_; }

 private:
  using Set = TextExpression::Set;
  using Kind = ExpressionPart::Kind;

  Status Mistake(size_t at, std::string why, std::string remedy) const {
    return Fail(ErrorCode::kUsage, std::string(act_),
                std::move(why) + ", at byte " + std::to_string(at + 1) + " of '" + std::string(text_) + "'",
                std::move(remedy));
  }
  bool Is(char sign) const { return at_ < text_.size() && text_[at_] == sign; }
  size_t AddPart(ExpressionPart part) {
    parts_.push_back(std::move(part));
    return parts_.size() - 1;
  }
  size_t AddSet(Set set) {
    made_.sets_.push_back(std::move(set));
    return AddPart({Kind::kSet, made_.sets_.size() - 1, {}, 0, 0});
  }

  Result<size_t> ReadAny(size_t depth) {
    if (depth > TextExpression::kMostGroups) return Mistake(at_, "groups stand too deep", "use fewer of them");
    ExpressionPart any{Kind::kAny, 0, {}, 0, 0};
    while (true) {
      ASSIGN_OR_RETURN(const size_t one, ReadAll(depth));
      any.parts.push_back(one);
      if (!Is('|')) break;
      ++at_;
    }
    return any.parts.size() == 1 ? any.parts[0] : AddPart(std::move(any));
  }

  Result<size_t> ReadAll(size_t depth) {
    ExpressionPart all;
    while (at_ < text_.size() && !Is('|') && !Is(')')) {
      ASSIGN_OR_RETURN(size_t one, ReadOne(depth));
      ASSIGN_OR_RETURN(one, ReadRepeats(one));
      all.parts.push_back(one);
    }
    return AddPart(std::move(all));
  }

  Result<size_t> ReadOne(size_t depth) {
    const size_t begin = at_;
    switch (text_[at_]) {
      case '(': {
        ++at_;
        if (text_.substr(at_).starts_with("?:")) {
          at_ += 2;
        } else if (Is('?')) {
          return Mistake(begin, "only (?: is known of the groups with a ?", "leave the ? out");
        }
        ASSIGN_OR_RETURN(const size_t group, ReadAny(depth + 1));
        if (!Is(')')) return Mistake(begin, "a ( has no ) behind it", "add one, or write \\(");
        ++at_;
        return group;
      }
      case '[':
        return ReadClass();
      case '.':
        ++at_;
        return AddSet({{}, true});
      case '^':
        ++at_;
        return AddPart({Kind::kBegin, 0, {}, 0, 0});
      case '$':
        ++at_;
        return AddPart({Kind::kEnd, 0, {}, 0, 0});
      case '*':
      case '+':
      case '?':
        return Mistake(begin, std::string("there is nothing that '") + text_[at_] + "' could repeat",
                       std::string("write \\") + text_[at_] + " for the sign itself");
      default: {
        Set set;
        RETURN_IF_ERROR(ReadCharacters(set).status());
        return AddSet(std::move(set));
      }
    }
  }

  Result<size_t> ReadRepeats(size_t part) {
    for (;;) {
      ExpressionPart repeat{Kind::kRepeat, 0, {part}, 0, kNoLimit};
      if (Is('*') || Is('+') || Is('?')) {
        repeat.least = Is('+') ? 1 : 0;
        if (Is('?')) repeat.most = 1;
        ++at_;
      } else {
        ASSIGN_OR_RETURN(const bool is_count, ReadCount(repeat));
        if (!is_count) return part;
      }
      part = AddPart(std::move(repeat));
      if (Is('?')) ++at_;  // as few as will do: that makes no difference to whether a text fits
    }
  }

  // {n}, {n,} or {n,m}. False: the { is a sign of the text.
  Result<bool> ReadCount(ExpressionPart& repeat) {
    if (!Is('{')) return false;
    size_t at = at_ + 1;
    const auto number = [&]() -> std::optional<int64_t> {
      const size_t begin = at;
      int64_t made = 0;
      for (; at < text_.size() && text_[at] >= '0' && text_[at] <= '9'; ++at) {
        made = std::min<int64_t>(made * 10 + (text_[at] - '0'), TextExpression::kMostRepeats + 1);
      }
      return at == begin ? std::nullopt : std::optional(made);
    };
    const std::optional<int64_t> least = number();
    if (!least) return false;
    repeat.least = repeat.most = *least;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      repeat.most = number().value_or(kNoLimit);
    }
    if (at == text_.size() || text_[at] != '}') return false;
    if (std::max(repeat.least, repeat.most) > TextExpression::kMostRepeats) {
      return Mistake(at_, "it repeats something more than 255 times", "use + or *");
    }
    if (repeat.most != kNoLimit && repeat.most < repeat.least) {
      return Mistake(at_, "the second number is less than the first", "turn them around");
    }
    at_ = at + 1;
    return true;
  }

  Result<size_t> ReadClass() {
    const size_t begin = at_++;
    Set set;
    set.is_others = Is('^');
    if (set.is_others) ++at_;
    for (bool is_first = true; is_first || !Is(']'); is_first = false) {
      if (at_ >= text_.size()) return Mistake(begin, "a [ has no ] behind it", "add one, or write \\[");
      ASSIGN_OR_RETURN(const std::optional<char32_t> low, ReadCharacters(set));
      const bool is_range = low && Is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (!is_range) continue;
      const size_t dash = at_++;
      ASSIGN_OR_RETURN(const std::optional<char32_t> high, ReadCharacters(set));
      if (!high || *high < *low) return Mistake(dash, "a range of characters ends before it begins", "turn it around");
      set.ranges.emplace_back(*low, *high);
    }
    ++at_;
    return AddSet(std::move(set));
  }

  // Adds a character, or those of \d and the like. Nothing: they are several.
  Result<std::optional<char32_t>> ReadCharacters(Set& set) {
    const size_t begin = at_;
    char32_t one = TakeCharacter(text_, at_);
    if (one == U'\\') {
      if (at_ == text_.size()) return Mistake(begin, "nothing stands behind the \\", "write \\\\ for the sign itself");
      one = TakeCharacter(text_, at_);
      using Ranges = std::vector<std::pair<char32_t, char32_t>>;
      const auto add = [&](const Ranges& ranges, bool are_others) -> std::optional<char32_t> {
        if (!are_others) set.ranges.insert(set.ranges.end(), ranges.begin(), ranges.end());
        char32_t next = 0;
        for (const auto& [from, to] : ranges) {
          if (are_others && from > next) set.ranges.emplace_back(next, from - 1);
          next = to + 1;
        }
        if (are_others) set.ranges.emplace_back(next, kLastCharacter + 256);
        return std::nullopt;
      };
      const bool are_others = one == U'D' || one == U'W' || one == U'S';
      if (one == U'd' || one == U'D') return add({{U'0', U'9'}}, are_others);
      if (one == U'w' || one == U'W') {
        return add({{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}}, are_others);
      }
      if (one == U's' || one == U'S') return add({{U'\t', U'\r'}, {U' ', U' '}}, are_others);
      const bool is_letter =
          (one >= U'0' && one <= U'9') || (one >= U'A' && one <= U'Z') || (one >= U'a' && one <= U'z');
      if (is_letter && one != U't') {
        return Mistake(begin, "'" + std::string(text_.substr(begin, 2)) + "' is no sign of these expressions",
                       "it knows \\d \\w \\s \\D \\W \\S \\t, and \\ before a sign that is no letter");
      }
      if (one == U't') one = U'\t';
    }
    set.ranges.emplace_back(one, one);
    return std::optional(one);
  }

  const std::string_view text_;
  const std::string_view act_;
  TextExpression& made_;
  std::vector<ExpressionPart> parts_;
  size_t at_ = 0;
};

// Makes states of parts: each leads on to the one behind it.
class ExpressionMaker {
 public:
  ExpressionMaker(const std::vector<ExpressionPart>& parts, TextExpression& made) : parts_(parts), made_(made) {}

  // False: there are too many.
  bool Make(size_t whole) {
    Emit(parts_[whole]);
    Add({Step::kFits, 0, 0});
    return steps_ <= kMostSteps;
  }

 private:
  using Step = TextExpression::Step;
  using Kind = ExpressionPart::Kind;
  static constexpr size_t kMostSteps = 4 * TextExpression::kMostStates;  // parts without a state count, too

  size_t Add(TextExpression::State state) {
    if (made_.states_.size() >= TextExpression::kMostStates) steps_ = kMostSteps + 1;
    if (steps_ > kMostSteps) return 0;
    made_.states_.push_back(state);
    return made_.states_.size() - 1;
  }
  size_t next() const { return made_.states_.size(); }
  // A fork to the state behind it and, later, to another one.
  size_t AddFork() { return Add({Step::kFork, next() + 1, 0}); }
  void Lead(size_t fork) {
    if (steps_ <= kMostSteps) made_.states_[fork].other = next();
  }

  void Emit(const ExpressionPart& part) {
    if (++steps_ > kMostSteps) return;
    switch (part.kind) {
      case Kind::kSet:
        Add({Step::kSet, part.set, 0});
        return;
      case Kind::kBegin:
        Add({Step::kBegin, 0, 0});
        return;
      case Kind::kEnd:
        Add({Step::kEnd, 0, 0});
        return;
      case Kind::kAll:
        for (const size_t one : part.parts) Emit(parts_[one]);
        return;
      case Kind::kAny:
        return EmitAny(part);
      case Kind::kRepeat:
        return EmitRepeat(part);
    }
  }

  void EmitAny(const ExpressionPart& part) {
    std::vector<size_t> ends;
    for (size_t i = 0; i < part.parts.size(); ++i) {
      const bool is_last = i + 1 == part.parts.size();
      const size_t fork = is_last ? 0 : AddFork();
      Emit(parts_[part.parts[i]]);
      if (is_last) break;
      ends.push_back(Add({Step::kFork, 0, 0}));
      Lead(fork);
    }
    for (const size_t end : ends) {
      if (steps_ > kMostSteps) return;
      made_.states_[end].one = made_.states_[end].other = next();
    }
  }

  void EmitRepeat(const ExpressionPart& part) {
    const ExpressionPart& one = parts_[part.parts[0]];
    const bool is_endless = part.most == kNoLimit;
    for (int64_t i = is_endless ? 1 : 0; i < part.least; ++i) Emit(one);
    if (is_endless) {
      // a+ goes back behind it; a* has a way around it, too.
      const bool is_around = part.least == 0;
      const size_t around = is_around ? AddFork() : 0;
      const size_t begin = next();
      Emit(one);
      Add({Step::kFork, begin, next() + 1});
      if (is_around) Lead(around);
      return;
    }
    std::vector<size_t> forks;
    for (int64_t i = part.least; i < part.most && steps_ <= kMostSteps; ++i) {
      forks.push_back(AddFork());
      Emit(one);
    }
    for (const size_t fork : forks) Lead(fork);
  }

  const std::vector<ExpressionPart>& parts_;
  TextExpression& made_;
  size_t steps_ = 0;
};

bool TextExpression::Set::Has(char32_t character) const {
  const bool is_in = std::any_of(ranges.begin(), ranges.end(), [&](const std::pair<char32_t, char32_t>& range) {
    return range.first <= character && character <= range.second;
  });
  return is_in != is_others;
}

Result<TextExpression> TextExpression::Read(std::string_view text, std::string_view act) {
  TextExpression made;
  ExpressionReader reader(text, act, made);
  ASSIGN_OR_RETURN(const size_t whole, reader.Read());
  if (!ExpressionMaker(reader.parts(), made).Make(whole)) {
    return Fail(ErrorCode::kUsage, std::string(act), "'" + std::string(text) + "' repeats too much",
                "use + or * in place of numbers in braces");
  }
  return made;
}

bool TextExpression::Fits(std::string_view text) const {
  std::vector<size_t> now;
  std::vector<size_t> next;
  std::vector<size_t> ahead;
  std::vector<size_t> seen(states_.size(), SIZE_MAX);  // the place for which each state was entered last
  // Enters a state and all that it leads to without a character. True: the text fits.
  const auto enter = [&](size_t state, size_t at, std::vector<size_t>& into) {
    ahead.push_back(state);
    while (!ahead.empty()) {
      const size_t one = ahead.back();
      ahead.pop_back();
      if (seen[one] == at) continue;
      seen[one] = at;
      const State& of = states_[one];
      if (of.step == Step::kFits) return true;
      if (of.step == Step::kSet) into.push_back(one);
      if (of.step == Step::kFork) {
        ahead.push_back(of.one);
        ahead.push_back(of.other);
      } else if ((of.step == Step::kBegin && at == 0) || (of.step == Step::kEnd && at == text.size())) {
        ahead.push_back(one + 1);
      }
    }
    return false;
  };
  size_t at = 0;
  if (enter(0, at, now)) return true;
  while (at < text.size()) {
    const char32_t character = TakeCharacter(text, at);
    next.clear();
    for (const size_t state : now) {
      if (sets_[states_[state].one].Has(character) && enter(state + 1, at, next)) return true;
    }
    if (enter(0, at, next)) return true;
    now.swap(next);
  }
  return false;
}

}  // namespace kprof
