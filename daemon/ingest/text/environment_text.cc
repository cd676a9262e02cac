#include "daemon/ingest/text/environment_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "daemon/ingest/text/printed_text.h"
#include "daemon/ingest/text/private_names.h"

namespace kprof {
namespace {

constexpr int kMostTexts = 4;      // JSON in a text in JSON in a text
constexpr int kMostTextDepth = 8;  // of what is looked through for variables that are kept
constexpr size_t kLongestWord = 256;

bool IsUpperLetter(char c) {
  return c >= 'A' && c <= 'Z';
}

bool IsOfName(char c) {
  return IsUpperLetter(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// "HOME", as the key of an object that may hold variables: quotes of both kinds.
bool HasKeyOfVariable(std::string_view json) {
  constexpr size_t kShortest = 3;
  for (const char quote : {'"', '\''}) {
    for (size_t at = json.find(quote); at != json.npos; at = json.find(quote, at + 1)) {
      size_t end = at + 1;
      while (end < json.size() && IsOfName(json[end]) && (json[end] < 'a' || json[end] > 'z')) ++end;
      if (end > at + kShortest && end < json.size() && json[end] == quote) return true;
    }
  }
  return false;
}

void DropLastComma(std::string& json) {
  const size_t last = json.find_last_not_of(" \n\r\t");
  if (last != json.npos && json[last] == ',') json.resize(last);
}

// What a key says, as far as names of ASCII go.
std::string KeyText(std::string_view quoted) {
  std::string text;
  for (size_t at = 1; at + 1 < quoted.size(); ++at) {
    unsigned code = 0;
    const std::string_view digits = quoted.substr(at).starts_with("\\u") ? quoted.substr(at + 2, 4) : "";
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() == 4 && error == std::errc() && end == digits.data() + 4 && code < 0x80) {
      text += static_cast<char>(code);
      at += 5;
    } else {
      text += quoted[at];
    }
  }
  return text;
}

// What stands between its quotes, of what may be cut off.
std::string_view Inside(std::string_view quoted) {
  const bool is_closed = quoted.size() > 1 && quoted.back() == quoted.front();
  return quoted.substr(1, quoted.size() - (is_closed ? 2 : 1));
}

// NAME=value as a whole, with the name of a variable.
bool IsSetting(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != text.npos && IsVariableName(text.substr(0, equals));
}

bool IsKeptSetting(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != text.npos && IsKeptEnvironment(text.substr(0, equals), text.substr(equals + 1));
}

// Whether name=value stands somewhere in it.
bool HasSetting(std::string_view text) {
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    const bool is_compared = at + 1 < text.size() && text[at + 1] == '=';
    if (at > 0 && IsOfName(text[at - 1]) && !is_compared) return true;
  }
  return false;
}

// Calls `see` with each member of the list that begins at `at`.
template <typename See>
void ForEachElement(const char* at, const char* end, const See& see) {
  at = SkipSpace(at + 1);
  while (at < end && *at != ']') {
    const char* value_end = FindValueEnd(at, end);
    if (value_end == nullptr || value_end == at) return;
    see(std::string_view(at, static_cast<size_t>(value_end - at)));
    at = SkipSpace(value_end);
    if (at >= end || *at != ',') return;
    at = SkipSpace(at + 1);
  }
}

// Of the list or the object of an environment, the variables that are kept. Reads as json_scan.h does.
std::optional<std::string> ListedOf(std::string_view json, int depth) {
  if (json.empty() || depth == kMostTextDepth) return std::nullopt;
  const char* end = json.data() + json.size();
  std::string kept;
  auto add = [&](std::string_view key, std::string_view value) {
    kept += kept.empty() ? "" : ",";
    if (json[0] == '{') kept += '"' + std::string(key) + "\":";
    kept += value;
  };
  auto see = [&](std::string_view key, std::string_view value) {
    if (value[0] == '{' || value[0] == '[') {
      if (const auto of = ListedOf(value, depth + 1)) add(key, *of);
    } else {
      const bool is_string = value[0] == '"';
      const std::string text = is_string ? UnescapeJson(Inside(value)) : std::string(value);
      const bool is_kept =
          json[0] == '{' ? IsKeptEnvironment(UnescapeJson(key), text) : is_string && IsKeptSetting(text);
      if (is_kept) add(key, value);
    }
    return true;
  };
  if (json[0] == '{') {
    ForEachMember(json.data(), end, see);
  } else {
    ForEachElement(json.data(), end, [&](std::string_view value) { see("", value); });
  }
  if (kept.empty()) return std::nullopt;
  return json[0] + kept + CloserOf(json[0]);
}

std::optional<std::string> TextWithout(std::string_view text, EnvironmentKept kept, int texts);
std::optional<std::string> QuotedWithout(std::string_view quoted, EnvironmentKept kept, int texts);

// Whether the object at `at` has a text under a key that is a variable of those that tell.
bool HoldsVariables(std::string_view json, size_t at) {
  at = SkipBlank(json, at + 1);
  while (at < json.size() && BeginsString(json, at)) {
    const size_t key_end = StringEnd(json, at);
    const std::string_view key = Inside(json.substr(at, key_end - at));
    at = SkipBlank(json, key_end);
    if (at >= json.size() || json[at] != ':') return false;
    at = SkipBlank(json, at + 1);
    if (at < json.size() && BeginsString(json, at) && TellsOfEnvironment(key)) return true;
    at = SkipMember(json, at);
    if (at >= json.size() || json[at] != ',') return false;
    at = SkipBlank(json, at + 1);
  }
  return false;
}

// Goes through a text once, but for objects near the top, whose keys it looks at first. What turns out to go only
// behind its end is noted, and taken out last.
class Filter {
 public:
  Filter(std::string_view json, EnvironmentKept kept, int texts) : json_(json), kept_(kept), texts_(texts) {
    out_.reserve(json.size());
  }

  std::string Run() {
    while (at_ < json_.size()) {
      if (BeginsString(json_, at_)) {
        SeeString();
      } else if (!SkipNamedNest()) {
        SeeOther(json_[at_]);
      }
    }
    while (!open_.empty()) Close();
    return Assembled();
  }

 private:
  struct Range {
    size_t begin = 0;
    size_t end = 0;
    bool operator<(const Range& other) const {
      return begin < other.begin || (begin == other.begin && end > other.end);
    }
  };
  struct Open {
    char bracket = '\0';
    // Of a pair: what its name is, and where its value stands, with its key.
    bool names_next = false;
    std::string name;
    bool has_value = false;
    Range value;
    size_t value_key_end = 0;
    bool holds_variables = false;  // an object: one of its keys tells so
    // Of a list.
    bool names_variable = false;  // its first text is one that tells, as in ["HOME", "/home/who"]
    bool has_text = false;
    size_t settings = 0;
    std::vector<Range> dropped;
  };

  bool in_object() const { return !open_.empty() && open_.back().bracket == '{'; }

  void SeeString() {
    const size_t end = StringEnd(json_, at_);
    const std::string_view text = json_.substr(at_, end - at_);
    if (at_key_) {
      SeeKey(text, end);
    } else {
      SeeText(text, end);
    }
  }

  void SeeKey(std::string_view text, size_t end) {
    const std::string key = KeyText(text);
    EndPairValue();
    const size_t colon = SkipBlank(json_, end);
    const bool has_value = colon < json_.size() && json_[colon] == ':';
    Open& object = open_.back();
    const bool is_variable = object.holds_variables && IsVariableName(key);
    if (has_value && (is_variable || EnvironmentNameOf(key) != EnvironmentName::kNone))
      return SeeMember(key, SkipBlank(json_, colon + 1));
    object.names_next = key == "name" || key == "key";
    if (key == "value" || key == "values") {
      if (!std::exchange(object.has_value, true)) {
        object.value.begin = out_.size();
        object.value_key_end = out_.size() + text.size();
      }
      object.value.end = 0;
    }
    Copy(end);
    at_key_ = false;
  }

  // Of an environment.
  void SeeMember(std::string_view key, size_t value_at) {
    const size_t end = SkipMember(json_, value_at);
    size_t value_end = end;
    while (value_end > value_at && IsBlank(json_[value_end - 1])) --value_end;
    const std::string_view value = json_.substr(value_at, value_end - value_at);
    if (const std::optional<std::string> of = KeptOfEnvironment(key, value, kept_)) {
      Copy(value_at);
      out_ += *of;
      at_ = value_end;
      at_key_ = false;
      return;
    }
    at_ = end;
    if (at_ < json_.size() && json_[at_] == ',') {
      at_ = SkipBlank(json_, at_ + 1);
    } else {
      DropLastComma(out_);
    }
  }

  void SeeText(std::string_view text, size_t end) {
    const bool is_closed = text[0] == '"' && text.size() > 1 && text.back() == '"';
    const std::string_view inside = Inside(text);
    if (!open_.empty()) {
      Open& of = open_.back();
      if (std::exchange(of.names_next, false)) of.name = UnescapeJson(inside);
      const bool is_first = !std::exchange(of.has_text, true);
      if (of.bracket != '{' && of.names_variable) {
        of.settings = 2;
        of.dropped.push_back({out_.size(), out_.size() + text.size()});
        return Copy(end);
      }
      if (of.bracket != '{' && is_first) of.names_variable = TellsOfEnvironment(inside);
      if (of.bracket != '{' && IsSetting(inside)) {
        ++of.settings;
        const bool is_listed = IsKeptSetting(inside);
        const bool tells = TellsOfEnvironment(inside.substr(0, inside.find('=')));
        if (tells || (kept_ == EnvironmentKept::kNone && is_listed)) ++of.settings;
        const bool is_kept = kept_ == EnvironmentKept::kListed && is_listed;
        if (!is_kept) of.dropped.push_back({out_.size(), out_.size() + text.size()});
        return Copy(end);
      }
    }
    const std::optional<std::string> without = is_closed ? QuotedWithout(inside, kept_, texts_) : std::nullopt;
    if (!without) return Copy(end);
    out_ += '"' + *without + '"';
    at_ = end;
  }

  // env={...}, environ({...}): what stands behind such a word goes. False where there is no such thing.
  bool SkipNamedNest() {
    const char c = json_[at_];
    if (!IsBracket(c) || at_ < no_text_until_ || !EndsInEnvironmentWord(c)) return false;
    const size_t end = SkipNest(json_, at_);
    const std::string_view nest = json_.substr(at_, end - at_);
    const auto is_of_text = [](char c) { return c == '"' || c == '\'' || (IsOfName(c) && (c < '0' || c > '9')); };
    if (std::none_of(nest.begin(), nest.end(), is_of_text)) {
      no_text_until_ = end;
      return false;
    }
    out_ += {c, CloserOf(c)};
    at_ = end;
    at_key_ = false;
    return true;
  }

  bool EndsInEnvironmentWord(char bracket) const {
    size_t end = out_.size();
    auto skip = [&](auto is) {
      const size_t before = end;
      while (end > 0 && is(out_[end - 1])) --end;
      return end < before;
    };
    skip(IsBlank);
    const bool is_assigned = skip([](char c) { return c == '=' || c == ':'; });
    if (!is_assigned && bracket != '(') return false;
    skip(IsBlank);
    size_t begin = end;
    while (begin > 0 && end - begin < kLongestWord && (IsOfName(out_[begin - 1]) || out_[begin - 1] == '.')) --begin;
    const std::string_view word = std::string_view(out_).substr(begin, end - begin);
    if (is_assigned) return EnvironmentNameOf(word) != EnvironmentName::kNone;
    return EnvironmentEventOf(word) == EnvironmentEvent::kWhole;  // a call
  }

  void SeeOther(char c) {
    if (IsBracket(c)) {
      open_.push_back({.bracket = c});
      open_.back().holds_variables = c == '{' && open_.size() <= kMostTextDepth && HoldsVariables(json_, at_);
    }
    if (IsCloser(c)) {
      EndPairValue();
      while (c != ')' && !open_.empty() && open_.back().bracket == '(') Close();
      const bool is_tuple = !open_.empty() && open_.back().bracket == '(';
      if (!open_.empty() && (c != ')' || is_tuple)) Close();
    }
    if (c == '{' || c == ',') at_key_ = in_object();
    if (c == '[' || c == '(' || IsCloser(c)) at_key_ = false;
    if (c == ',' && in_object()) EndPairValue();
    out_ += c;
    ++at_;
  }

  void EndPairValue() {
    if (!open_.empty() && open_.back().has_value && open_.back().value.end == 0) open_.back().value.end = out_.size();
  }

  void Close() {
    Open& of = open_.back();
    EndPairValue();
    if (of.has_value && EnvironmentNameOf(of.name) != EnvironmentName::kNone) {
      std::string_view value(out_);
      value = value.substr(of.value_key_end, of.value.end - of.value_key_end);
      const size_t begin = value.find_first_not_of(" \n\r\t:");
      const size_t last = value.find_last_not_of(" \n\r\t,");
      const bool is_there = begin != value.npos && last != value.npos && begin <= last;
      value = is_there ? value.substr(begin, last - begin + 1) : std::string_view();
      if (!KeptOfEnvironment(of.name, value, EnvironmentKept::kNone)) ranges_.push_back(of.value);
    }
    if (of.settings > 1) ranges_.insert(ranges_.end(), of.dropped.begin(), of.dropped.end());
    open_.pop_back();
  }

  void Copy(size_t end) {
    out_ += json_.substr(at_, end - at_);
    at_ = end;
  }

  std::string Assembled() {
    if (ranges_.empty()) return std::move(out_);
    std::sort(ranges_.begin(), ranges_.end());
    std::string rest;
    size_t at = 0;
    for (const Range& range : ranges_) {
      if (range.begin < at) continue;
      rest += std::string_view(out_).substr(at, range.begin - at);
      at = SkipBlank(out_, range.end);
      if (at < out_.size() && out_[at] == ',') at = SkipBlank(out_, at + 1);
      if (at >= out_.size() || IsCloser(out_[at])) DropLastComma(rest);
    }
    return rest + out_.substr(at);
  }

  const std::string_view json_;
  const EnvironmentKept kept_;
  const int texts_;
  size_t at_ = 0;
  std::string out_;
  std::vector<Open> open_;
  bool at_key_ = false;
  size_t no_text_until_ = 0;
  std::vector<Range> ranges_;  // of out_
};

std::optional<std::string> TextWithout(std::string_view text, EnvironmentKept kept, int texts) {
  const bool may_name = MayNameEnvironment(text);
  if (!may_name && !MayHaveSettings(text)) return std::nullopt;
  std::string without = may_name ? Filter(text, kept, texts + 1).Run() : std::string(text);
  if (SetsVariables(without)) without.clear();
  return without == text ? std::nullopt : std::optional(std::move(without));
}

std::optional<std::string> QuotedWithout(std::string_view quoted, EnvironmentKept kept, int texts) {
  if (texts == kMostTexts || (!MayNameEnvironment(quoted) && !MayHaveSettings(quoted))) return std::nullopt;
  const bool has_escapes = quoted.find('\\') != quoted.npos;
  const std::optional<std::string> without =
      has_escapes ? TextWithout(UnescapeJson(quoted), kept, texts) : TextWithout(quoted, kept, texts);
  if (!without) return std::nullopt;
  std::string out;
  AppendJsonString(out, *without);
  return out.substr(1, out.size() - 2);
}

}  // namespace

bool MayNameEnvironment(std::string_view json) {
  if (!HasBracket(json)) return false;
  if (json.find('\\') != json.npos) return true;  // whatever that stands for
  if (MayHaveEnvironmentWord(json) || HasKeyOfVariable(json)) return true;
  for (size_t at = json.find('='); at != json.npos; at = json.find('=', at + 1)) {
    const char before = at > 0 ? json[at - 1] : '\0';
    if (IsUpperLetter(before) || (before >= '0' && before <= '9') || before == '_') return true;
  }
  return false;
}

std::string WithoutEnvironment(std::string_view json, EnvironmentKept kept) {
  return Filter(json, kept, 0).Run();
}

std::optional<std::string> QuotedWithoutEnvironment(std::string_view quoted, EnvironmentKept kept) {
  return QuotedWithout(quoted, kept, 0);
}

std::optional<std::string> TextWithoutEnvironment(std::string_view text, EnvironmentKept kept) {
  return TextWithout(text, kept, 0);
}

bool HoldsSettings(std::string_view text) {
  const size_t bracket = text.find_first_of(kBrackets);
  return (bracket != text.npos && HasQuote(text.substr(bracket))) || HasSetting(text);
}

std::optional<std::string> KeptOfEnvironment(std::string_view name, std::string_view value, EnvironmentKept kept) {
  if (value.empty()) return std::string();
  const EnvironmentName of = EnvironmentNameOf(name);
  const std::string_view variable = of == EnvironmentName::kVariable ? VariableOf(name) : std::string_view();
  const bool is_listed = kept == EnvironmentKept::kListed;
  if (value[0] == '"' || value[0] == '\'') {
    const std::string text = UnescapeJson(Inside(value));
    const bool is_kept_variable = is_listed && IsKeptEnvironment(variable, text);
    const bool is_word = of == EnvironmentName::kWord && !HoldsSettings(text);
    const bool is_kept = text.empty() || is_word || is_kept_variable || (is_listed && IsKeptSetting(text));
    return is_kept ? std::optional<std::string>(value) : std::nullopt;
  }
  if (IsBracket(value[0])) {
    if (of != EnvironmentName::kVariable && !HasQuote(value)) return std::string(value);
    if (!is_listed || of == EnvironmentName::kVariable || value[0] == '(') return std::nullopt;
    const std::string padded = std::string(value) + std::string(kScanSlackBytes, '\0');
    return ListedOf(std::string_view(padded).substr(0, value.size()), 0);
  }
  if (HasQuote(value)) return std::nullopt;  // environ({...})
  const bool is_kept = !IsVariableName(variable) || (is_listed && IsKeptEnvironment(variable, value));
  return is_kept ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace kprof
