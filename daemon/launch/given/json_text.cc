#include "daemon/launch/given/json_text.h"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

void AppendCodePoint(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

bool IsDigitChar(char c) {
  return c >= '0' && c <= '9';
}

// From the left to the right; the first fault counts.
class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  // Empty: it is one value, now in `value`.
  std::string Parse(GivenJson& value) {
    if (ReadValue(value, 0)) {
      SkipSpaces();
      if (at_ < text_.size()) Refuse("something follows the value");
    }
    return why_;
  }
  size_t at() const { return at_; }

 private:
  bool Refuse(const char* why) {
    if (why_.empty()) why_ = why;
    return false;
  }
  void SkipSpaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool Take(char c) {
    SkipSpaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return Refuse("this is no JSON value");
    at_ += word.size();
    return true;
  }

  bool ReadValue(GivenJson& value, size_t depth) {
    SkipSpaces();
    if (at_ >= text_.size()) return Refuse("it ends where a value is expected");
    if (depth > kMostJsonDepth) return Refuse("it is nested too deep");
    value.at = at_;
    switch (text_[at_]) {
      case '{':
        return ReadObject(value, depth);
      case '[':
        return ReadList(value, depth);
      case '"':
        value.kind = GivenJson::Kind::kText;
        return ReadText(value.text);
      case 't':
      case 'f':
        value.kind = GivenJson::Kind::kBool;
        value.text = text_[at_] == 't' ? "true" : "false";
        return TakeWord(value.text);
      case 'n':
        value.text = "null";
        return TakeWord(value.text);
      default:
        return ReadNumber(value);
    }
  }

  bool ReadObject(GivenJson& value, size_t depth) {
    value.kind = GivenJson::Kind::kObject;
    ++at_;
    if (Take('}')) return true;
    do {
      SkipSpaces();
      if (at_ >= text_.size() || text_[at_] != '"') return Refuse("a name in quotes is expected");
      std::string name;
      if (!ReadText(name)) return false;
      if (value.names.size() >= kMostJsonNames) return Refuse("the object has too many names");
      if (value.Find(name) != nullptr) return Refuse("this name is in the object twice");
      if (!Take(':')) return Refuse("a ':' is expected");
      value.names.push_back(std::move(name));
      if (!ReadValue(value.items.emplace_back(), depth + 1)) return false;
    } while (Take(','));
    return Take('}') || Refuse("a ',' or '}' is expected");
  }

  bool ReadList(GivenJson& value, size_t depth) {
    value.kind = GivenJson::Kind::kList;
    ++at_;
    if (Take(']')) return true;
    do {
      if (!ReadValue(value.items.emplace_back(), depth + 1)) return false;
    } while (Take(','));
    return Take(']') || Refuse("a ',' or ']' is expected");
  }

  bool ReadNumber(GivenJson& value) {
    const size_t begin = at_;
    auto digits = [this] {
      const size_t first = at_;
      while (at_ < text_.size() && IsDigitChar(text_[at_])) ++at_;
      return at_ > first;
    };
    auto next_is = [this](std::string_view signs) {
      return at_ < text_.size() && signs.find(text_[at_]) != std::string_view::npos;
    };
    if (next_is("-")) ++at_;
    const bool leads_with_zero = next_is("0");
    const size_t first = at_;
    if (!digits()) return Refuse("this is no JSON value");
    if (leads_with_zero && at_ > first + 1) return Refuse("a number begins with 0");
    if (next_is(".")) {
      ++at_;
      if (!digits()) return Refuse("digits are expected after '.'");
    }
    if (next_is("eE")) {
      ++at_;
      if (next_is("+-")) ++at_;
      if (!digits()) return Refuse("digits are expected in the exponent");
    }
    value.kind = GivenJson::Kind::kNumber;
    value.text = text_.substr(begin, at_ - begin);
    return true;
  }

  std::optional<uint32_t> ReadHex() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ >= text_.size()) return std::nullopt;
      const char c = text_[at_];
      if (IsDigitChar(c)) {
        code = code << 4 | static_cast<uint32_t>(c - '0');
      } else if (const char low = static_cast<char>(c | 0x20); low >= 'a' && low <= 'f') {
        code = code << 4 | static_cast<uint32_t>(low - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    return code;
  }

  bool ReadEscape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) return Refuse("it ends within a text");
    const char letter = text_[at_++];
    if (const size_t which = kLetters.find(letter); which != std::string_view::npos) {
      out += kMeant[which];
      return true;
    }
    if (letter != 'u') return Refuse("this escape is not known");
    std::optional<uint32_t> code = ReadHex();
    if (code && *code >= 0xd800 && *code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const std::optional<uint32_t> low = ReadHex();
      if (!low || *low < 0xdc00 || *low >= 0xe000) return Refuse("this escape is half of a pair");
      code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
    }
    if (!code || (*code >= 0xd800 && *code < 0xe000)) return Refuse("this escape is no character");
    AppendCodePoint(*code, out);
    return true;
  }

  bool ReadText(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return Refuse("a control character stands in a text");
      if (c == '\\') {
        ++at_;
        if (!ReadEscape(out)) return false;
        continue;
      }
      const Utf8Step step = NextUtf8(text_.substr(at_));
      if (!step.valid) return Refuse("this is not UTF-8");
      out += text_.substr(at_, step.size_bytes);
      at_ += step.size_bytes;
    }
    return Refuse("it ends within a text");
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string why_;
};

void AppendJson(const GivenJson& value, std::string& out) {
  switch (value.kind) {
    case GivenJson::Kind::kText:
      out += JsonQuoted(value.text);
      return;
    case GivenJson::Kind::kList:
      out += '[';
      for (size_t i = 0; i < value.items.size(); ++i) {
        if (i > 0) out += ',';
        AppendJson(value.items[i], out);
      }
      out += ']';
      return;
    case GivenJson::Kind::kObject:
      out += '{';
      for (size_t i = 0; i < value.names.size(); ++i) {
        if (i > 0) out += ',';
        out += JsonQuoted(value.names[i]) + ":";
        AppendJson(value.items[i], out);
      }
      out += '}';
      return;
    default:
      out += value.kind == GivenJson::Kind::kNull ? "null" : value.text;
  }
}

}  // namespace

const GivenJson* GivenJson::Find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return &items[i];
  }
  return nullptr;
}

Result<GivenJson> ReadJson(std::string_view text, const std::string& what, size_t most_bytes) {
  constexpr const char* kRemedy = "write it like '{\"b\": 32, \"dtype\": \"bfloat16\"}'";
  if (text.size() > most_bytes) {
    return Fail(ErrorCode::kUsage, "read " + what,
                "it has " + std::to_string(text.size()) + " bytes, over the limit of " + std::to_string(most_bytes),
                "put what is long into a file of its own, and --collect that");
  }
  GivenJson value;
  JsonParser parser(text);
  const std::string why = parser.Parse(value);
  if (why.empty()) return value;
  return Fail(ErrorCode::kUsage, "read " + what, "byte " + std::to_string(parser.at()) + ": " + why, kRemedy);
}

std::string JsonQuoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string JsonOf(const GivenJson& value) {
  std::string out;
  AppendJson(value, out);
  return out;
}

}  // namespace kprof
