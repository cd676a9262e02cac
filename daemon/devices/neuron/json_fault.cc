#include "daemon/devices/neuron/json_fault.h"

#include <string>

#include "storage/base/utf8.h"

namespace kprof {
namespace {

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : text_(text) {}

  std::optional<size_t> Find() {
    const bool right = ReadAll();
    if (right) return std::nullopt;
    return at_;
  }

 private:
  bool ReadAll() {
    do {
      if (!ReadValue()) return false;
    } while (!open_.empty());
    SkipSpace();
    return AtEnd();
  }

  // A value, or the next one of what is open, with all the marks before and the closing ones behind it.
  bool ReadValue() {
    SkipSpace();
    if (!open_.empty() && open_.back() == '{') {
      if (!ReadText()) return false;
      SkipSpace();
      if (!Take(':')) return false;
      SkipSpace();
    }
    if (AtEnd()) return false;
    const char first = text_[at_];
    if (first == '{' || first == '[') {
      ++at_;
      open_ += first;
      SkipSpace();
      if (AtEnd()) return false;
      const char close = first == '{' ? '}' : ']';
      return text_[at_] == close ? CloseAll() : true;
    }
    if (!ReadScalar(first)) return false;
    return CloseAll();
  }

  // What closes behind a value, and the comma before the next one.
  bool CloseAll() {
    while (!open_.empty()) {
      SkipSpace();
      if (AtEnd()) return false;
      if (text_[at_] == ',') {
        ++at_;
        return true;
      }
      if (!Take(open_.back() == '{' ? '}' : ']')) return false;
      open_.pop_back();
    }
    return true;
  }

  bool ReadScalar(char first) {
    if (first == '"') return ReadText();
    if (first == 't') return TakeWord("true");
    if (first == 'f') return TakeWord("false");
    if (first == 'n') return TakeWord("null");
    return ReadNumber();
  }

  bool ReadText() {
    if (!Take('"')) return false;
    while (!AtEnd()) {
      const char c = text_[at_];
      if (c == '"') return Take('"');
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\') {
        if (!ReadEscape()) return false;
        continue;
      }
      const Utf8Step step = NextUtf8(text_.substr(at_));
      if (!step.valid) return false;
      at_ += step.size_bytes;
    }
    return false;
  }

  bool ReadEscape() {
    ++at_;
    if (AtEnd()) return false;
    const char kind = text_[at_];
    if (kind != 'u') return TakeOneOf("\"\\/bfnrt");
    ++at_;
    for (int digit = 0; digit < 4; ++digit, ++at_) {
      if (AtEnd() || !IsHexDigit(text_[at_])) return false;
    }
    return true;
  }

  bool ReadNumber() {
    if (!AtEnd() && text_[at_] == '-') ++at_;
    if (!AtEnd() && text_[at_] == '0') {
      ++at_;
    } else if (!TakeDigits()) {
      return false;
    }
    if (!AtEnd() && text_[at_] == '.') {
      ++at_;
      if (!TakeDigits()) return false;
    }
    if (AtEnd() || (text_[at_] != 'e' && text_[at_] != 'E')) return true;
    ++at_;
    if (!AtEnd() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    return TakeDigits();
  }

  bool TakeDigits() {
    const size_t begin = at_;
    while (!AtEnd() && IsDigit(text_[at_])) ++at_;
    return at_ > begin;
  }

  bool TakeWord(std::string_view word) {
    for (const char c : word) {
      if (!Take(c)) return false;
    }
    return true;
  }

  bool Take(char c) { return TakeOneOf({&c, 1}); }

  bool TakeOneOf(std::string_view some) {
    if (AtEnd() || some.find(text_[at_]) == some.npos) return false;
    ++at_;
    return true;
  }

  void SkipSpace() {
    while (!AtEnd() && IsSpace(text_[at_])) ++at_;
  }

  bool AtEnd() const { return at_ == text_.size(); }

  const std::string_view text_;
  size_t at_ = 0;
  std::string open_;  // of each array and object that is open, its mark
};

}  // namespace

std::optional<size_t> FindJsonFault(std::string_view text) {
  return JsonWalk(text).Find();
}

}  // namespace kprof
