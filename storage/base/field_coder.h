// Encodes and decodes messages of our own protocols from one list of fields per type, so that writer and reader cannot
// differ. The list is a struct of the protocol's:
//
//   struct Fields {
//     template <typename Coder, typename T>
//     static void Visit(Coder& field, T& value);  // calls field(value.x) for each field
//   };
//
// A field is a number (a float as its bits), an enum (of one byte, none of whose values is above Fields::Last(value)),
// a text, an optional, a vector, or a struct that Visit knows. Texts and lists longer than the limits are cut when
// written, and refused when read. The reader takes untrusted bytes, as MessageDecoder does.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "storage/base/message_coder.h"

namespace kprof {

struct FieldLimits {
  size_t text_bytes = 0;
  size_t list_entries = 0;
};

template <typename Fields>
class FieldWriter {
 public:
  explicit FieldWriter(FieldLimits limits) : limits_(limits) {}

  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) {
      out_.Add(static_cast<uint8_t>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      out_.Add(value);
    } else {
      Fields::Visit(*this, value);
    }
  }
  void operator()(double value) { out_.Add(std::bit_cast<uint64_t>(value)); }
  void operator()(const std::string& text) { out_.Add(text.substr(0, limits_.text_bytes)); }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    const size_t count = std::min(values.size(), limits_.list_entries);
    out_.Add(static_cast<uint32_t>(count));
    for (size_t i = 0; i < count; ++i) (*this)(values[i]);
  }
  std::string Take() { return out_.Take(); }

 private:
  const FieldLimits limits_;
  MessageEncoder out_;
};

template <typename Fields>
class FieldReader {
 public:
  FieldReader(std::string_view bytes, FieldLimits limits) : limits_(limits), in_(bytes) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      uint8_t number = 0;
      in_.Read(number);
      if (number > static_cast<uint8_t>(Fields::Last(value))) bad_ = true;
      if (!bad_) value = static_cast<T>(number);
    } else if constexpr (std::is_arithmetic_v<T>) {
      in_.Read(value);
    } else {
      Fields::Visit(*this, value);
    }
  }
  void operator()(double& value) {
    uint64_t bits = 0;
    in_.Read(bits);
    value = std::bit_cast<double>(bits);
  }
  void operator()(std::string& text) {
    in_.Read(text);
    if (text.size() > limits_.text_bytes) bad_ = true;
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    bool present = false;
    in_.Read(present);
    if (present) (*this)(value.emplace());
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    const uint32_t count = in_.ReadCount(1);
    if (count > limits_.list_entries) {
      bad_ = true;
      return;
    }
    values.resize(count);
    for (T& value : values) (*this)(value);
  }
  bool Ok() const { return !bad_ && in_.Ok(); }

 private:
  const FieldLimits limits_;
  MessageDecoder in_;
  bool bad_ = false;
};

// A packet is a struct of a u32 `tag` and a variant `message`. The message's place in the variant is its type.
template <typename Fields, typename Packet>
std::string EncodeFields(const Packet& packet, FieldLimits limits) {
  FieldWriter<Fields> out(limits);
  out(packet.tag);
  out(static_cast<uint8_t>(packet.message.index()));
  std::visit([&](const auto& message) { Fields::Visit(out, message); }, packet.message);
  return out.Take();
}

template <typename Fields, size_t place = 0, typename... Messages>
bool ReadMessage(size_t type, FieldReader<Fields>& in, std::variant<Messages...>& message) {
  if constexpr (place < sizeof...(Messages)) {
    if (type != place) return ReadMessage<Fields, place + 1>(type, in, message);
    Fields::Visit(in, message.template emplace<place>());
    return true;
  } else {
    return false;
  }
}

// True if `bytes` are one whole packet with nothing behind it.
template <typename Fields, typename Packet>
bool DecodeFields(std::string_view bytes, FieldLimits limits, Packet& packet) {
  FieldReader<Fields> in(bytes, limits);
  uint8_t type = 0;
  in(packet.tag);
  in(type);
  return ReadMessage(type, in, packet.message) && in.Ok();
}

}  // namespace kprof
