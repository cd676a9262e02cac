#include "daemon/devices/neuron/json_document.h"

#define SIMDJSON_EXCEPTIONS 0
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "daemon/devices/neuron/json_fault.h"
#include "storage/base/readable_text.h"

namespace kprof {
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
