// Protocol buffers on the wire, appended to a text: what an export needs of them.
// https://protobuf.dev/programming-guides/encoding
//
// Pure; any thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace kprof {

class ProtoBytes {
 public:
  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void Clear() { bytes_.clear(); }

  // Of (u)int32, (u)int64, bool and enums; a negative int64 as its two's complement.
  void Varint(uint32_t field, uint64_t value) {
    AppendVarint(uint64_t{field} << 3 | kVarintType);
    AppendVarint(value);
  }
  void Integer(uint32_t field, int64_t value) { Varint(field, static_cast<uint64_t>(value)); }
  void Fixed64(uint32_t field, uint64_t value) {
    AppendVarint(uint64_t{field} << 3 | kFixed64Type);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xff);
  }
  void Double(uint32_t field, double value) { Fixed64(field, std::bit_cast<uint64_t>(value)); }
  // REQUIRES of a string: UTF-8.
  void Bytes(uint32_t field, std::string_view value) {
    AppendVarint(uint64_t{field} << 3 | kBytesType);
    AppendVarint(value.size());
    bytes_ += value;
  }
  void Message(uint32_t field, const ProtoBytes& value) { Bytes(field, value.bytes()); }

 private:
  static constexpr uint64_t kVarintType = 0;
  static constexpr uint64_t kFixed64Type = 1;
  static constexpr uint64_t kBytesType = 2;

  void AppendVarint(uint64_t value) {
    std::array<char, 10> bytes;
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    bytes_.append(bytes.data(), size);
  }

  std::string bytes_;
};

}  // namespace kprof
