// Reads the fields of a message of protocol buffers, one behind the other. A message in it is read the same way.
// https://protobuf.dev/programming-guides/encoding
//
// Pure; any thread. The bytes may be anything: what cannot be a field ends the reading.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace kprof {

// A varint at `at`, which moves behind it. Nothing: it is cut off, or has more than ten bytes.
inline std::optional<uint64_t> ReadVarint(const char*& at, const char* end) {
  if (at < end && static_cast<unsigned char>(*at) < 0x80) return static_cast<unsigned char>(*at++);  // most are small
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && at < end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    value |= uint64_t{byte & 0x7fu} << (shift & 63);
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

class ProtoFields {
 public:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  explicit ProtoFields(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  // Moves to the next field. False at the end, and where none can be read: is_whole() says which.
  bool Next() {
    if (at_ == end_) return false;
    const char* at = at_;
    const std::optional<uint64_t> tag = ReadVarint(at, end_);
    constexpr uint64_t kMostFieldNumber = (1u << 29) - 1;
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > kMostFieldNumber) return Break();
    number_ = static_cast<uint32_t>(*tag >> 3);
    type_ = static_cast<Type>(*tag & 7);
    switch (type_) {
      case kVarint: {
        const std::optional<uint64_t> value = ReadVarint(at, end_);
        if (!value) return Break();
        value_ = *value;
        break;
      }
      case kFixed64:
      case kFixed32: {
        const size_t size = type_ == kFixed64 ? 8 : 4;
        if (static_cast<size_t>(end_ - at) < size) return Break();
        value_ = 0;
        for (size_t i = 0; i < size; ++i) value_ |= uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
        at += size;
        break;
      }
      case kBytes: {
        const std::optional<uint64_t> size = ReadVarint(at, end_);
        if (!size || *size > static_cast<uint64_t>(end_ - at)) return Break();
        bytes_ = {at, static_cast<size_t>(*size)};
        at += *size;
        break;
      }
      default:
        return Break();  // groups, which nobody writes any more
    }
    at_ = at;
    return true;
  }

  // True: all of the message was fields.
  bool is_whole() const { return at_ == end_ && !is_broken_; }

  // These are of the field that Next moved to.
  uint32_t number() const { return number_; }
  Type type() const { return type_; }
  bool is_number() const { return type_ != kBytes; }
  // The number of the field; 0: it has bytes.
  uint64_t value() const { return is_number() ? value_ : 0; }
  int64_t integer() const { return static_cast<int64_t>(value()); }
  // The value of a double or a float.
  double real() const {
    if (type_ == kFixed64) return std::bit_cast<double>(value_);
    if (type_ == kFixed32) return std::bit_cast<float>(static_cast<uint32_t>(value_));
    return 0;
  }
  // The bytes of the field; empty: it has a number.
  std::string_view bytes() const { return is_number() ? std::string_view() : bytes_; }

  // Calls `see` with each number of a field that may be repeated: one of a field, or several packed in its bytes.
  // `packed`: how they are packed.
  template <typename See>
  void ForEachNumber(Type packed, const See& see) const {
    if (is_number()) return see(value_);
    const char* at = bytes_.data();
    const char* const end = at + bytes_.size();
    if (packed == kVarint) {
      while (at < end) {
        const std::optional<uint64_t> value = ReadVarint(at, end);
        if (!value) return;
        see(*value);
      }
      return;
    }
    for (; end - at >= 8; at += 8) {
      uint64_t value = 0;
      for (int i = 0; i < 8; ++i) value |= uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
      see(value);
    }
  }

 private:
  bool Break() {
    is_broken_ = true;
    return false;
  }

  const char* at_;
  const char* end_;
  bool is_broken_ = false;
  uint32_t number_ = 0;
  Type type_ = kVarint;
  uint64_t value_ = 0;
  std::string_view bytes_;
};

}  // namespace kprof
