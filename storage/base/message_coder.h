// The bytes of our own small protocols and files: integers little-endian, a string as u32 length and bytes, a list as
// u32 count and entries. Each protocol decides what its messages hold (launch_protocol.h, helper_protocol.h).
//
// The decoder takes untrusted bytes: it never reads past the end, and never allocates more than the bytes hold (and a
// string object per string in them).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

class MessageEncoder {
 public:
  template <typename T>
  void Add(T value) {
    auto bits = static_cast<uint64_t>(value);
    for (size_t i = 0; i < sizeof(T); ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  void Add(const std::string& text) {
    Add(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  void Add(const std::vector<std::string>& texts) {
    Add(static_cast<uint32_t>(texts.size()));
    for (const std::string& text : texts) Add(text);
  }
  void Add(const std::optional<int32_t>& value) {
    Add(static_cast<uint8_t>(value.has_value()));
    Add(value.value_or(0));
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads one value after the other. After the first missing value all later reads fail as well. Ask Ok() at the end: it
// is true if nothing failed and no bytes are left over.
class MessageDecoder {
 public:
  explicit MessageDecoder(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  void Read(T& value) {
    if (!Has(sizeof(T))) return;
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) bits |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    value = static_cast<T>(bits);
    rest_.remove_prefix(sizeof(T));
  }
  void Read(bool& value) {
    uint8_t byte = 0;
    Read(byte);
    if (byte > 1) bad_ = true;
    value = byte == 1;
  }
  void Read(std::string& text) {
    uint32_t size = 0;
    Read(size);
    if (!Has(size)) return;
    text.assign(rest_.substr(0, size));
    rest_.remove_prefix(size);
  }
  // For the caller's loop over a list: the number of entries that follow, each of at least `least_bytes`.
  uint32_t ReadCount(size_t least_bytes) {
    uint32_t count = 0;
    Read(count);
    if (bad_ || count > rest_.size() / least_bytes) {
      bad_ = true;
      return 0;
    }
    return count;
  }
  void Read(std::vector<std::string>& texts) {
    texts.resize(ReadCount(sizeof(uint32_t)));
    for (std::string& text : texts) {
      Read(text);
      if (bad_) return;
    }
  }
  void Read(std::optional<int32_t>& value) {
    bool present = false;
    int32_t number = 0;
    Read(present);
    Read(number);
    if (present) {
      value = number;
    } else if (number != 0) {
      bad_ = true;
    }
  }
  bool Ok() const { return !bad_ && rest_.empty(); }

 private:
  bool Has(size_t size) {
    if (bad_ || rest_.size() < size) bad_ = true;
    return !bad_;
  }

  std::string_view rest_;
  bool bad_ = false;
};

}  // namespace kprof
