#include "daemon/ingest/environment_settings.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "daemon/ingest/environment_names.h"

namespace kprof {
namespace {

bool IsOfVariable(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsSmall(char c) {
  return c >= 'a' && c <= 'z';
}

bool IsQuote(char c) {
  return c == '"' || c == '\'';
}

bool EndsLine(char c) {
  return c == '\n' || c == '\r' || c == '\0';
}

// What a value ends at, outside quotes.
bool EndsWord(char c) {
  constexpr std::string_view kEnds = " \t;|&\"'`<>";
  return EndsLine(c) || kEnds.find(c) != kEnds.npos;
}

bool IsOpening(char c) {
  return c == '(' || c == '{' || c == '[';
}

bool IsClosing(char c) {
  return c == ')' || c == '}' || c == ']';
}

bool IsOfList(char c) {
  return IsOpening(c) || IsClosing(c) || c == ',';
}

// Where the name of a setting begins that has its '=' there, at `least` or later. Nothing where it is none.
std::optional<size_t> NameOf(std::string_view text, size_t least, size_t equals) {
  size_t begin = equals;
  while (begin > least && IsOfVariable(text[begin - 1])) --begin;
  const char before = begin > 0 ? text[begin - 1] : '\0';
  const bool is_compared = equals + 1 < text.size() && text[equals + 1] == '=';
  const bool is_part = IsSmall(before) || before == '-' || before == '.' || before == '/' || before == '$';
  if (is_compared || is_part || !IsVariableName(text.substr(begin, equals - begin))) return std::nullopt;
  return begin;
}

bool HasValue(std::string_view text, size_t at) {
  while (at < text.size() && IsOfList(text[at])) ++at;
  return at < text.size() && (IsQuote(text[at]) || !EndsWord(text[at]));
}

// What is seen of all settings at once, also of those in what looks like the value of another one.
struct Layout {
  bool tells = false;       // one of them is a variable of those that tell
  size_t behind_zeros = 0;  // how many begin there, or where the text does
  size_t begin_lines = 0;

  // One to a line, or to a zero, as in /proc/PID/environ: there a value may hold any line ends.
  bool is_of_zeros() const { return behind_zeros > 1; }
  bool is_of_lines() const { return begin_lines > 1; }
};

Layout LayoutOf(std::string_view text) {
  Layout layout;
  for (size_t equals = text.find('='); equals != text.npos; equals = text.find('=', equals + 1)) {
    const std::optional<size_t> begin = NameOf(text, 0, equals);
    if (!begin) continue;
    const char before = *begin > 0 ? text[*begin - 1] : '\0';
    layout.behind_zeros += before == '\0' ? 1 : 0;
    layout.begin_lines += EndsLine(before) ? 1 : 0;
    layout.tells |= HasValue(text, equals + 1) && TellsOfEnvironment(text.substr(*begin, equals - *begin));
  }
  return layout;
}

// Goes through a text once, value by value. What was looked for in vain is not looked for again, so that the time is
// that of the text's length, whatever it is.
class Values {
 public:
  Values(std::string_view text, const Layout& layout) : text_(text), layout_(layout) {}

  // Behind the value that begins at `at`. `before`: what stands before its name.
  size_t EndOf(size_t at, char before) {
    const bool is_whole_line = layout_.is_of_lines() && EndsSetting(before);
    const size_t end = is_whole_line ? LineEnd(at) : WordEnd(at, before);
    return std::max(end, KeyEnd(at, end));
  }

 private:
  bool EndsSetting(char c) const { return layout_.is_of_zeros() ? c == '\0' : EndsLine(c); }

  size_t LineEnd(size_t at) const {
    while (at < text_.size() && !EndsSetting(text_[at])) ++at;
    return at;
  }

  // As a shell takes it: pieces in quotes and others, one behind the other; up to the end of the line where the first
  // quote has no end. A quote or a bracket that it all stands in ends it. Marks of a list at its end are not its, but
  // brackets that it opened.
  size_t WordEnd(size_t at, char before) {
    const size_t begin = at;
    const bool is_in_list = IsOpening(before) || before == ',';
    size_t open = 0;
    size_t end = at;
    while (at < text_.size()) {
      const char c = text_[at];
      const bool is_escaped = c == '$' && at + 1 < text_.size() && text_[at + 1] == '\'';  // $'a\'b'
      const size_t quote = at + (is_escaped ? 1 : 0);
      if (IsQuote(text_[quote]) && text_[quote] != before) {
        const std::optional<size_t> behind = QuotedEnd(quote, is_escaped || c == '"', at == begin);
        if (!behind) return at == begin ? LineEnd(at) : end;
        end = at = *behind;
        continue;
      }
      const bool closes = IsClosing(c);
      if (EndsWord(c) || (closes && open == 0 && is_in_list)) break;
      const bool is_pair = c == '\\' && at + 1 < text_.size() && !EndsLine(text_[at + 1]);
      at += is_pair ? 2 : 1;
      if (!IsOfList(c) || (closes && open > 0)) end = at;
      if (closes && open > 0) --open;
      if (IsOpening(c)) ++open;
    }
    return end;
  }

  // Behind the text in quotes that begins at `at`; nothing where it has no end. Only what a value begins with goes
  // over ends of lines, where lines are no settings.
  std::optional<size_t> QuotedEnd(size_t at, bool has_escapes, bool begins_value) {
    const char quote = text_[at];
    const bool spans_lines = begins_value && !layout_.is_of_lines();
    size_t& unclosed_to = quote == '"' ? unclosed_double_to_ : unclosed_single_to_;
    if (at < unclosed_to) return std::nullopt;
    size_t end = at + 1;
    for (; end < text_.size() && (spans_lines || !EndsLine(text_[end])); ++end) {
      if (text_[end] == quote) return end + 1;
      if (has_escapes && text_[end] == '\\') ++end;
    }
    unclosed_to = std::min(end, text_.size());
    return std::nullopt;
  }

  // Behind the last line of a key as programs keep them, where the value has its first one; else 0.
  size_t KeyEnd(size_t at, size_t end) {
    constexpr std::string_view kFirst = "-----BEGIN";
    constexpr std::string_view kLast = "-----END";
    constexpr std::string_view kDashes = "-----";
    const size_t first = text_.substr(0, std::min(end, text_.size())).find(kFirst, at);
    if (first == text_.npos || first >= no_key_from_) return 0;
    const size_t last = text_.find(kLast, first);
    const size_t dashes = last == text_.npos ? last : text_.find(kDashes, last + kLast.size());
    if (dashes == text_.npos) {
      no_key_from_ = first;
      return 0;
    }
    return dashes + kDashes.size();
  }

  const std::string_view text_;
  const Layout layout_;
  size_t unclosed_double_to_ = 0;  // no quote that opens before that has an end
  size_t unclosed_single_to_ = 0;
  size_t no_key_from_ = std::string_view::npos;
};

}  // namespace

bool MayHaveSettings(std::string_view text) {
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    if (at > 2 && IsOfVariable(text[at - 1]) && IsOfVariable(text[at - 2])) return true;
  }
  return false;
}

std::optional<std::string> WithoutSettings(std::string_view text) {
  if (!MayHaveSettings(text)) return std::nullopt;
  const Layout layout = LayoutOf(text);
  if (!layout.tells) return std::nullopt;
  Values values(text, layout);
  std::string rest;
  size_t at = 0;  // behind the last setting
  for (size_t equals = text.find('='); equals != text.npos; equals = text.find('=', equals + 1)) {
    if (equals < at) continue;  // of a value
    const std::optional<size_t> begin = NameOf(text, at, equals);
    if (!begin) continue;
    rest += text.substr(at, *begin - at);
    at = values.EndOf(equals + 1, *begin > 0 ? text[*begin - 1] : '\0');
  }
  return rest + std::string(text.substr(at));
}

}  // namespace kprof
