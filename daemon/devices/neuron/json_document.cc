#include "daemon/devices/neuron/json_document.h"

#define SIMDJSON_EXCEPTIONS 0
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "storage/base/readable_text.h"

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

namespace {

namespace dom = simdjson::dom;

constexpr size_t kShownPathBytes = 200;
constexpr size_t kTextLimitBytes = 4096;
// Beyond it not every whole number is a double.
constexpr double kMostExact = 9007199254740992.0;

template <typename Number>
std::optional<Number> ParseAll(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string WhyNotJson(simdjson::error_code error, std::string_view text) {
  if (error == simdjson::DEPTH_ERROR) return "nests deeper than " + std::to_string(kJsonLimitDepth) + " levels";
  const std::optional<size_t> fault = FindJsonFault(text);
  if (!fault) return "holds a number that is too large, or an escape that is no character";
  if (*fault == text.size()) return "ends too early, after " + std::to_string(text.size()) + " bytes";
  return "byte " + std::to_string(*fault) + " cannot stand where it does";
}

}  // namespace

Status BadJson(const std::string& path, const std::string& why) {
  return Fail(ErrorCode::kBadInput, "take it apart as JSON",
              (path.empty() ? "" : ClippedText(TerminalText(path), kShownPathBytes) + ": ") + why);
}

JsonValue::JsonValue(const dom::element& element) {
  static_assert(sizeof(element) == sizeof(bytes_) && alignof(dom::element) <= alignof(void*) &&
                std::is_trivially_copyable_v<dom::element>);
  std::memcpy(bytes_.data(), &element, sizeof(bytes_));
}

dom::element JsonValue::element() const {
  dom::element element;
  std::memcpy(static_cast<void*>(&element), bytes_.data(), sizeof(bytes_));
  return element;
}

bool JsonValue::is_object() const {
  return element().is_object();
}

bool JsonValue::is_array() const {
  return element().is_array();
}

std::optional<JsonValue> JsonValue::Find(std::string_view key) const {
  dom::object object;
  if (element().get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  dom::element value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return JsonValue(value);
}

std::optional<std::string> JsonValue::FindText(std::string_view key) const {
  const std::optional<JsonValue> value = Find(key);
  if (!value) return std::nullopt;
  if (const std::optional<std::string_view> text = value->Text()) return ClippedText(*text, kTextLimitBytes);
  const std::optional<int64_t> whole = value->Whole();
  return whole ? std::optional(std::to_string(*whole)) : std::nullopt;
}

std::optional<int64_t> JsonValue::FindWhole(std::string_view key, int64_t least, int64_t most) const {
  const std::optional<JsonValue> value = Find(key);
  const std::optional<int64_t> whole = value ? value->Whole() : std::nullopt;
  return whole && *whole >= least && *whole <= most ? whole : std::nullopt;
}

std::optional<double> JsonValue::FindNumber(std::string_view key) const {
  const std::optional<JsonValue> value = Find(key);
  return value ? value->Number() : std::nullopt;
}

std::optional<std::string_view> JsonValue::Text() const {
  std::string_view text;
  if (element().get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

std::optional<int64_t> JsonValue::Whole() const {
  const dom::element value = element();
  int64_t whole = 0;
  if (value.get_int64().get(whole) == simdjson::SUCCESS) return whole;
  if (value.is_uint64()) return std::nullopt;  // beyond int64_t
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS) {
    if (number != std::floor(number) || std::abs(number) > kMostExact) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  const std::optional<std::string_view> text = Text();
  return text ? ParseAll<int64_t>(*text) : std::nullopt;
}

std::optional<double> JsonValue::Number() const {
  double number = 0;
  if (element().get_double().get(number) == simdjson::SUCCESS) return number;
  const std::optional<std::string_view> text = Text();
  const std::optional<double> parsed = text ? ParseAll<double>(*text) : std::nullopt;
  return parsed && std::isfinite(*parsed) ? parsed : std::nullopt;
}

Result<std::vector<JsonValue>> JsonValue::Elements(size_t limit, const std::string& path) const {
  dom::array array;
  if (element().get_array().get(array) != simdjson::SUCCESS) return BadJson(path, "is no list");
  if (array.size() > limit) return BadJson(path, "has more than " + std::to_string(limit) + " elements");
  std::vector<JsonValue> elements;
  elements.reserve(array.size());
  for (const dom::element element : array) elements.push_back(JsonValue(element));
  return elements;
}

Result<std::vector<JsonMember>> JsonValue::Members(size_t limit, const std::string& path) const {
  dom::object object;
  if (element().get_object().get(object) != simdjson::SUCCESS) return BadJson(path, "is no object");
  if (object.size() > limit) return BadJson(path, "has more than " + std::to_string(limit) + " members");
  std::vector<JsonMember> members;
  members.reserve(object.size());
  for (const dom::key_value_pair member : object) members.push_back({member.key, JsonValue(member.value)});
  return members;
}

struct JsonDocument::Parts {
  dom::parser parser{kJsonLimitBytes};
  dom::element root;
};

JsonDocument::JsonDocument(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
JsonDocument::~JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&& other) noexcept = default;

JsonValue JsonDocument::root() const {
  return JsonValue(parts_->root);
}

Result<JsonDocument> JsonDocument::Parse(std::string_view text) {
  if (text.size() > kJsonLimitBytes) {
    return BadJson("", "has more than " + std::to_string(kJsonLimitBytes) + " bytes");
  }
  auto parts = std::make_unique<Parts>();
  simdjson::error_code error =
      parts->parser.allocate(std::max(text.size(), dom::MINIMAL_DOCUMENT_CAPACITY), kJsonLimitDepth);
  if (error == simdjson::SUCCESS) error = parts->parser.parse(text.data(), text.size()).get(parts->root);
  if (error == simdjson::MEMALLOC) return Fail(ErrorCode::kInternal, "take it apart as JSON", "no memory for that");
  if (error != simdjson::SUCCESS) return BadJson("", WhyNotJson(error, text));
  return JsonDocument(std::move(parts));
}

}  // namespace kprof
