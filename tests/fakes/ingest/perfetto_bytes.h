// Writes messages of protocol buffers, and packets of a Perfetto trace, for tests.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace kprof {

// Fields one behind the other: Fields().Number(1, 5).Bytes(2, "name").
class Fields {
 public:
  Fields& Number(uint32_t field, uint64_t value) {
    Varint(uint64_t{field} << 3);
    Varint(value);
    return *this;
  }
  Fields& Fixed64(uint32_t field, uint64_t value) {
    Varint(uint64_t{field} << 3 | 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xff);
    return *this;
  }
  Fields& Real(uint32_t field, double value) { return Fixed64(field, std::bit_cast<uint64_t>(value)); }
  Fields& Bytes(uint32_t field, std::string_view value) {
    Varint(uint64_t{field} << 3 | 2);
    Varint(value.size());
    bytes_ += value;
    return *this;
  }
  Fields& Message(uint32_t field, const Fields& value) { return Bytes(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

inline std::string Packet(const Fields& packet) {
  return Fields().Message(1, packet).bytes();
}

// A packet with a track event of the first sequence.
inline std::string EventPacket(uint64_t time_ns, const Fields& event) {
  return Packet(Fields().Number(8, time_ns).Number(10, 1).Number(13, 2).Message(11, event));
}

inline Fields Annotation(std::string_view name, int64_t value) {
  return Fields().Bytes(10, name).Number(4, static_cast<uint64_t>(value));
}

inline Fields Annotation(std::string_view name, std::string_view value) {
  return Fields().Bytes(10, name).Bytes(6, value);
}

inline Fields BeginOf(uint64_t track, std::string_view name) {
  return Fields().Number(9, 1).Number(11, track).Bytes(23, name);
}

inline Fields EndOn(uint64_t track) {
  return Fields().Number(9, 2).Number(11, track);
}

inline std::string ThreadPacket(uint64_t uuid, uint64_t pid, uint64_t tid, std::string_view name) {
  const Fields thread = Fields().Number(1, pid).Number(2, tid).Bytes(5, name);
  return Packet(Fields().Number(10, 1).Message(60, Fields().Number(1, uuid).Message(4, thread)));
}

}  // namespace kprof
