#include "storage/trace_sql/tables/strict_json.h"

#include <algorithm>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

bool IsPlain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c - 0x20) >= 0x5f || c == '"' || c == '\\') return false;
  }
  return true;
}

void AppendEscaped(std::string_view text, std::string& json) {
  constexpr const char* kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
      case '\\':
        json += '\\';
        json += c;
        break;
      case '\n':
        json += "\\n";
        break;
      case '\t':
        json += "\\t";
        break;
      case '\r':
        json += "\\r";
        break;
      default:
        if (byte >= 0x20) {
          json += c;
        } else {
          json += "\\u00";
          json += kHex[byte >> 4];
          json += kHex[byte & 15];
        }
    }
  }
}

// Takes a text apart, and writes it anew as it goes.
class Rewriter {
 public:
  Rewriter(std::string_view text, std::string& json) : text_(text), json_(json) {}

  // False where it is no list or object; what was written by then is of no use.
  bool Run() {
    if (text_.empty() || (text_[0] != '{' && text_[0] != '[')) return false;
    while (at_ < text_.size()) {
      const bool goes_on = Step(text_[at_]);
      if (!goes_on) return false;
      if (open_.empty()) return at_ == text_.size();
    }
    return false;
  }

 private:
  enum class Next { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kCommaOrEnd };

  bool Step(char c) {
    switch (c) {
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        return Take();
      case '{':
        return Open('}', Next::kKeyOrEnd);
      case '[':
        return Open(']', Next::kValueOrEnd);
      case '}':
      case ']':
        return Close(c);
      case ',':
        return Comma();
      case ':':
        if (next_ != Next::kColon) return false;
        next_ = Next::kValue;
        return Take();
      case '"':
        return String();
      default:
        return Word();
    }
  }

  bool Take() {
    json_ += text_[at_++];
    return true;
  }
  static bool IsSpecial(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }
  bool WantsValue() const { return next_ == Next::kValue || next_ == Next::kValueOrEnd; }

  bool Open(char end, Next next) {
    if (!WantsValue() || open_.size() == kMostJsonNesting) return false;
    open_ += end;
    next_ = next;
    return Take();
  }

  bool Close(char end) {
    const bool is_due = next_ == Next::kCommaOrEnd || next_ == (end == '}' ? Next::kKeyOrEnd : Next::kValueOrEnd);
    if (!is_due || open_.back() != end) return false;
    open_.pop_back();
    next_ = Next::kCommaOrEnd;
    return Take();
  }

  bool Comma() {
    if (next_ != Next::kCommaOrEnd) return false;
    next_ = open_.back() == '}' ? Next::kKey : Next::kValue;
    return Take();
  }

  bool String() {
    const bool is_key = next_ == Next::kKey || next_ == Next::kKeyOrEnd;
    if (!is_key && !WantsValue()) return false;
    next_ = is_key ? Next::kColon : Next::kCommaOrEnd;
    json_ += '"';
    for (++at_; at_ < text_.size();) {
      const size_t from = at_;
      while (at_ < text_.size() && !IsSpecial(text_[at_])) ++at_;
      json_ += text_.substr(from, at_ - from);
      if (at_ == text_.size()) return false;
      if (text_[at_] == '"') return Take();
      if (text_[at_] != '\\') {
        AppendEscaped(text_.substr(at_++, 1), json_);
      } else if (!Escape()) {
        return false;
      }
    }
    return false;
  }

  // One that JSON does not know is a backslash, and what stands behind it.
  bool Escape() {
    if (at_ + 1 == text_.size()) return false;
    const char c = text_[at_ + 1];
    const auto is_hex = [](char digit) {
      return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F');
    };
    bool is_known = std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    if (c == 'u') {
      is_known = at_ + 5 < text_.size();
      for (size_t i = at_ + 2; is_known && i < at_ + 6; ++i) is_known = is_hex(text_[i]);
    }
    Take();
    if (is_known) return Take();
    json_ += '\\';
    return true;
  }

  bool Word() {
    if (!WantsValue()) return false;
    const size_t end = std::min(text_.find_first_of(" \n\r\t{}[],:\"", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "true" || word == "false" || word == "null" || IsJsonNumber(word)) {
      json_ += word;
    } else {
      AppendStrictText(word, json_);
    }
    at_ = end;
    next_ = Next::kCommaOrEnd;
    return true;
  }

  const std::string_view text_;
  std::string& json_;
  size_t at_ = 0;
  Next next_ = Next::kValue;
  std::string open_;  // the brackets that are to come, the next one last
};

}  // namespace

void AppendStrictJson(std::string_view text, std::string& json) {
  if (!IsUtf8(text)) return AppendStrictJson(ReadableText(text), json);
  const size_t before = json.size();
  if (Rewriter(text, json).Run()) return;
  json.resize(before);
  AppendStrictText(text, json);
}

bool IsJsonNumber(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - from;
  };
  const size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[at - whole] == '0')) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

void AppendStrictText(std::string_view text, std::string& json) {
  json += '"';
  if (IsPlain(text)) {
    json += text;
  } else if (IsUtf8(text)) {
    AppendEscaped(text, json);
  } else {
    AppendEscaped(ReadableText(text), json);
  }
  json += '"';
}

}  // namespace kprof
