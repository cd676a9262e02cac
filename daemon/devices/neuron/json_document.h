// JSON that a vendor's tool printed, as values to ask. Knows no shape; those are the parsers'. A value of another kind
// than is asked for counts as absent, as tools differ in what they write; numbers may be written as texts.
//
// Any thread, one at a time. Takes up to 15 bytes of memory for each byte of text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace simdjson::dom {
class element;
}

namespace kprof {

// Finds the byte where a text stops being JSON, for messages: simdjson says only that it does. Counted from 0; the
// text's size where it ends too early; absent where its syntax is right. Looks at syntax and UTF-8 alone: numbers that
// are too large and escapes that are no character are right here. Pure; any thread.
std::optional<size_t> FindJsonFault(std::string_view text);

constexpr size_t kJsonLimitBytes = 16 << 20;
constexpr size_t kJsonLimitDepth = 64;

struct JsonMember;

// Cheap to copy. Valid while its document lives, and so is what it gives.
class JsonValue {
 public:
  bool is_object() const;
  bool is_array() const;

  // Nothing where this is no object, has no such key, or has null there.
  std::optional<JsonValue> Find(std::string_view key) const;
  // The same, and nothing where there is another kind of value, or a number out of range. FindText gives the first 4
  // KiB of a text.
  std::optional<std::string> FindText(std::string_view key) const;  // also of a whole number
  std::optional<int64_t> FindWhole(std::string_view key, int64_t least, int64_t most) const;
  std::optional<double> FindNumber(std::string_view key) const;

  std::optional<std::string_view> Text() const;
  // Also of a text that is one, or of a number like 3.0; nothing where it has a fraction or does not fit.
  std::optional<int64_t> Whole() const;
  // Also of a text that is one. Finite.
  std::optional<double> Number() const;

  // Fail with kBadInput where it is no array, or no object, and for more than `limit` values. `path` is its name in the
  // message.
  Result<std::vector<JsonValue>> Elements(size_t limit, const std::string& path) const;
  Result<std::vector<JsonMember>> Members(size_t limit, const std::string& path) const;

 private:
  friend class JsonDocument;
  explicit JsonValue(const simdjson::dom::element& element);
  simdjson::dom::element element() const;

  alignas(void*) std::array<std::byte, 2 * sizeof(void*)> bytes_;  // the element's: only the .cc file knows its type
};

struct JsonMember {
  std::string_view key;
  JsonValue value;
};

class JsonDocument {
 public:
  // The text is copied. Fails with kBadInput for a text that is not JSON, larger than kJsonLimitBytes or nested deeper
  // than kJsonLimitDepth, and says at which byte, counted from 0.
  static Result<JsonDocument> Parse(std::string_view text);
  ~JsonDocument();
  JsonDocument(JsonDocument&& other) noexcept;
  JsonDocument& operator=(JsonDocument&&) = delete;

  JsonValue root() const;

 private:
  struct Parts;
  explicit JsonDocument(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// The failure for a value that is not as expected: "read the list of devices: [2].neuron_device: is not there".
Status BadJson(const std::string& path, const std::string& why);

}  // namespace kprof
