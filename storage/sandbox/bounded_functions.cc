#include "storage/sandbox/bounded_functions.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "storage/sandbox/bounded_format.h"

namespace kprof {
namespace {

constexpr int64_t kMatchStepsPerClockReading = 16384;

WorkBudget& BudgetOf(sqlite3_context* context) {
  return *static_cast<WorkBudget*>(sqlite3_user_data(context));
}

std::string_view TextOf(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view() : std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

std::string_view BytesOf(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<size_t>(sqlite3_value_bytes(value)));
}

bool IsNull(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_NULL;
}
bool IsBlob(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_BLOB;
}
bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// memmem of the C library is linear; string_view::find is not.
size_t Find(std::string_view text, std::string_view part, size_t from) {
  const void* at = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return at == nullptr ? std::string_view::npos : static_cast<size_t>(static_cast<const char*>(at) - text.data());
}

void Instr(sqlite3_context* context, int, sqlite3_value** args) noexcept {
  if (IsNull(args[0]) || IsNull(args[1])) return;
  const bool blobs = IsBlob(args[0]) && IsBlob(args[1]);
  const std::string_view text = blobs ? BytesOf(args[0]) : TextOf(args[0]);
  const std::string_view part = blobs ? BytesOf(args[1]) : TextOf(args[1]);
  if (part.empty()) return sqlite3_result_int(context, 1);
  if (text.empty()) return sqlite3_result_int(context, 0);
  if (!blobs && IsContinuation(part[0])) {  // broken text: no character but the first can start so
    return sqlite3_result_int(context, text.starts_with(part) ? 1 : 0);
  }
  const size_t at = Find(text, part, 0);
  if (at == std::string_view::npos) return sqlite3_result_int(context, 0);
  int64_t position = static_cast<int64_t>(at) + 1;
  if (!blobs && at > 0) {
    position -= std::count_if(text.begin() + 1, text.begin() + static_cast<ptrdiff_t>(at), IsContinuation);
  }
  sqlite3_result_int64(context, position);
}

void Replace(sqlite3_context* context, int, sqlite3_value** args) noexcept {
  if (IsNull(args[0]) || IsNull(args[1])) return;
  const std::string_view text = TextOf(args[0]);
  const std::string_view part = TextOf(args[1]);
  if (part.empty() || part[0] == '\0') return sqlite3_result_value(context, args[0]);
  if (IsNull(args[2])) return;
  const std::string_view with = TextOf(args[2]);
  const auto limit = static_cast<size_t>(sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1));
  std::string out;
  size_t from = 0;
  while (text.size() - from >= part.size()) {
    const size_t at = Find(text, part, from);
    if (at == std::string_view::npos) break;
    out.append(text, from, at - from);
    out += with;
    if (out.size() > limit) return sqlite3_result_error_toobig(context);
    from = at + part.size();
  }
  out.append(text, from);
  sqlite3_result_text64(context, out.data(), out.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// The length of the character at the start as SQLite counts: a lead byte and all continuation bytes that follow.
size_t CharacterLength(std::string_view text) {
  size_t length = 1;
  if (static_cast<unsigned char>(text[0]) >= 0xc0) {
    while (length < text.size() && IsContinuation(text[length])) ++length;
  }
  return length;
}

class CharacterSet {
 public:
  explicit CharacterSet(std::string_view text) {
    while (!text.empty()) {
      const size_t length = CharacterLength(text);
      if (characters_.insert(text.substr(0, length)).second &&
          std::find(lengths_.begin(), lengths_.end(), length) == lengths_.end()) {
        lengths_.push_back(length);  // 1 to 4, but for broken text
      }
      text.remove_prefix(length);
    }
  }

  size_t LengthAtStart(std::string_view text) const {
    for (size_t length : lengths_) {
      if (length <= text.size() && characters_.contains(text.substr(0, length))) return length;
    }
    return 0;
  }
  size_t LengthAtEnd(std::string_view text) const {
    for (size_t length : lengths_) {
      if (length <= text.size() && characters_.contains(text.substr(text.size() - length))) return length;
    }
    return 0;
  }

 private:
  std::unordered_set<std::string_view> characters_;
  std::vector<size_t> lengths_;
};

template <bool kStart, bool kEnd>
void Trim(sqlite3_context* context, int count, sqlite3_value** args) noexcept {
  if (IsNull(args[0])) return;
  if (count == 2 && IsNull(args[1])) return;
  std::string_view text = TextOf(args[0]);
  const CharacterSet unwanted(count == 2 ? TextOf(args[1]) : std::string_view(" "));
  int64_t steps = 0;
  const auto out_of_time = [&] { return ++steps % kMatchStepsPerClockReading == 0 && BudgetOf(context).IsSpent(); };
  while (kStart && !text.empty()) {
    const size_t length = unwanted.LengthAtStart(text);
    if (length == 0) break;
    text.remove_prefix(length);
    if (out_of_time()) return sqlite3_result_error_code(context, SQLITE_INTERRUPT);
  }
  while (kEnd && !text.empty()) {
    const size_t length = unwanted.LengthAtEnd(text);
    if (length == 0) break;
    text.remove_suffix(length);
    if (out_of_time()) return sqlite3_result_error_code(context, SQLITE_INTERRUPT);
  }
  // An empty text, not NULL, when nothing is left.
  sqlite3_result_text64(context, text.empty() ? "" : text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// Takes one character off the text; 0 at its end or at a zero byte, where SQLite's patterns end too. Broken UTF-8 reads
// as SQLite reads it.
uint32_t TakeCharacter(std::string_view& text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = CharacterLength(text);
  uint32_t character = lead;
  if (lead >= 0xc0) {
    character = lead < 0xe0 ? lead & 0x1f : lead < 0xf0 ? lead & 0x0f : lead < 0xf8 ? lead & 0x07 : lead & 0x03;
    if (lead >= 0xfc) character = lead == 0xfc ? 0 : lead == 0xfd ? 1 : 0;
    for (size_t i = 1; i < length; ++i) character = (character << 6) + (static_cast<unsigned char>(text[i]) & 0x3f);
    if (character < 0x80 || (character & 0xfffff800) == 0xd800 || (character & 0xfffffffe) == 0xfffe)
      character = 0xfffd;
  }
  text.remove_prefix(length);
  if (character == 0) text = {};
  return character;
}

std::vector<uint32_t> Characters(std::string_view text) {
  std::vector<uint32_t> characters;
  characters.reserve(text.size());
  while (uint32_t character = TakeCharacter(text)) characters.push_back(character);
  return characters;
}

uint32_t Lower(uint32_t c) {
  return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

struct Range {
  uint32_t first;
  uint32_t last;
};

// One step of a pattern: it takes one character of the text, or (kAnyRun) any number of them.
struct Step {
  enum class Kind { kCharacter, kAnyOne, kAnyRun, kOneOf, kNever };
  Kind kind;
  uint32_t character = 0;
  std::vector<Range> ranges = {};
  bool inverted = false;
};

std::vector<Step> LikeSteps(std::string_view pattern, uint32_t escape) {
  std::vector<Step> steps;
  while (uint32_t c = TakeCharacter(pattern)) {
    if (escape != 0 && c == escape) {
      c = TakeCharacter(pattern);
      steps.push_back(c == 0 ? Step{Step::Kind::kNever} : Step{Step::Kind::kCharacter, Lower(c)});
    } else if (c == '%') {
      steps.push_back({Step::Kind::kAnyRun});
    } else if (c == '_') {
      steps.push_back({Step::Kind::kAnyOne});
    } else {
      steps.push_back({Step::Kind::kCharacter, Lower(c)});
    }
  }
  return steps;
}

// A set, the pattern being just behind its '['. SQLite's rules: ^ inverts, a ] that comes first is a member, - makes a
// range unless first or last.
Step OneOf(std::string_view& pattern) {
  Step step{Step::Kind::kOneOf};
  uint32_t c = TakeCharacter(pattern);
  if (c == '^') {
    step.inverted = true;
    c = TakeCharacter(pattern);
  }
  if (c == ']') {
    step.ranges.push_back({c, c});
    c = TakeCharacter(pattern);
  }
  uint32_t before = 0;
  while (c != 0 && c != ']') {
    if (c == '-' && !pattern.empty() && pattern[0] != ']' && pattern[0] != '\0' && before > 0) {
      c = TakeCharacter(pattern);
      step.ranges.push_back({before, c});
      before = 0;
    } else {
      step.ranges.push_back({c, c});
      before = c;
    }
    c = TakeCharacter(pattern);
  }
  return c == 0 ? Step{Step::Kind::kNever} : step;
}

std::vector<Step> GlobSteps(std::string_view pattern) {
  std::vector<Step> steps;
  while (uint32_t c = TakeCharacter(pattern)) {
    if (c == '*') {
      steps.push_back({Step::Kind::kAnyRun});
    } else if (c == '?') {
      steps.push_back({Step::Kind::kAnyOne});
    } else if (c == '[') {
      steps.push_back(OneOf(pattern));
    } else {
      steps.push_back({Step::Kind::kCharacter, c});
    }
  }
  return steps;
}

bool Takes(const Step& step, uint32_t c) {
  switch (step.kind) {
    case Step::Kind::kCharacter:
      return step.character == c;
    case Step::Kind::kAnyOne:
      return true;
    case Step::Kind::kOneOf:
      return std::any_of(step.ranges.begin(), step.ranges.end(),
                         [&](const Range& range) { return range.first <= c && c <= range.last; }) != step.inverted;
    case Step::Kind::kAnyRun:
    case Step::Kind::kNever:
      return false;
  }
  return false;
}

// Goes back to the last kAnyRun alone, which suffices: an earlier one need never take more. Nothing when out of time.
std::optional<bool> Matches(const std::vector<Step>& pattern, const std::vector<uint32_t>& text, WorkBudget& budget) {
  size_t step = 0;
  size_t at = 0;
  std::optional<size_t> run_step;
  size_t run_at = 0;
  int64_t steps = 0;
  while (at < text.size() || step < pattern.size()) {
    if (++steps % kMatchStepsPerClockReading == 0 && budget.IsSpent()) return std::nullopt;
    if (step < pattern.size() && pattern[step].kind == Step::Kind::kAnyRun) {
      run_step = ++step;
      run_at = at;
    } else if (step < pattern.size() && at < text.size() && Takes(pattern[step], text[at])) {
      ++step;
      ++at;
    } else if (run_step && run_at < text.size()) {
      step = *run_step;
      at = ++run_at;
    } else {
      return false;
    }
  }
  return true;
}

void ResultOfMatch(sqlite3_context* context, const std::vector<Step>& pattern, const std::vector<uint32_t>& text) {
  const std::optional<bool> matches = Matches(pattern, text, BudgetOf(context));
  if (!matches) return sqlite3_result_error_code(context, SQLITE_INTERRUPT);
  sqlite3_result_int(context, *matches ? 1 : 0);
}

bool IsTooLongPattern(sqlite3_context* context, std::string_view pattern) {
  const int limit = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LIKE_PATTERN_LENGTH, -1);
  if (pattern.size() <= static_cast<size_t>(limit)) return false;
  sqlite3_result_error(context, "LIKE or GLOB pattern too complex", -1);
  return true;
}

// LIKE and GLOB of a blob are 0, as in Debian's SQLite (SQLITE_LIKE_DOESNT_MATCH_BLOBS).
void Like(sqlite3_context* context, int count, sqlite3_value** args) noexcept {
  if (IsBlob(args[0]) || IsBlob(args[1])) return sqlite3_result_int(context, 0);
  if (!IsNull(args[0]) && IsTooLongPattern(context, TextOf(args[0]))) return;
  uint32_t escape = 0;
  if (count == 3) {
    if (IsNull(args[2])) return;
    const std::vector<uint32_t> characters = Characters(TextOf(args[2]));
    if (characters.size() != 1) {
      return sqlite3_result_error(context, "ESCAPE expression must be a single character", -1);
    }
    escape = characters[0];
  }
  if (IsNull(args[0]) || IsNull(args[1])) return;
  std::vector<uint32_t> text = Characters(TextOf(args[1]));
  std::transform(text.begin(), text.end(), text.begin(), Lower);
  ResultOfMatch(context, LikeSteps(TextOf(args[0]), escape), text);
}

void Glob(sqlite3_context* context, int, sqlite3_value** args) noexcept {
  if (IsBlob(args[0]) || IsBlob(args[1])) return sqlite3_result_int(context, 0);
  if (!IsNull(args[0]) && IsTooLongPattern(context, TextOf(args[0]))) return;
  if (IsNull(args[0]) || IsNull(args[1])) return;
  ResultOfMatch(context, GlobSteps(TextOf(args[0])), Characters(TextOf(args[1])));
}

struct Function {
  const char* name;
  int arguments;
  void (*run)(sqlite3_context*, int, sqlite3_value**) noexcept;
};

constexpr Function kFunctions[] = {
    {"instr", 2, Instr},
    {"replace", 3, Replace},
    {"trim", 1, Trim<true, true>},
    {"trim", 2, Trim<true, true>},
    {"ltrim", 1, Trim<true, false>},
    {"ltrim", 2, Trim<true, false>},
    {"rtrim", 1, Trim<false, true>},
    {"rtrim", 2, Trim<false, true>},
    {"like", 2, Like},
    {"like", 3, Like},
    {"glob", 2, Glob},
};

}  // namespace

int RegisterBoundedFunctions(sqlite3* db, WorkBudget& budget) {
  for (const Function& function : kFunctions) {
    const int result = sqlite3_create_function(db, function.name, function.arguments,
                                               SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, &budget,
                                               function.run, nullptr, nullptr);
    if (result != SQLITE_OK) return result;
  }
  return RegisterBoundedFormat(db);
}

}  // namespace kprof
