#include "storage/base/utf8.h"

namespace kprof {
namespace {

// How long the character must be that starts with this byte; 0 for a byte that starts none.
size_t SizeByFirst(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

}  // namespace

Utf8Step NextUtf8(std::string_view bytes) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const Utf8Step invalid = {.valid = false, .code_point = 0, .size_bytes = 1};
  uint8_t first = static_cast<uint8_t>(bytes[0]);
  size_t size = SizeByFirst(first);
  if (size == 0 || bytes.size() < size) return invalid;
  if (size == 1) return {.valid = true, .code_point = first, .size_bytes = 1};
  uint32_t code_point = first & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    uint8_t next = static_cast<uint8_t>(bytes[i]);
    if ((next & 0xc0) != 0x80) return invalid;
    code_point = code_point << 6 | (next & 0x3fu);
  }
  bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < kLeast[size] || code_point > 0x10ffff || surrogate) return invalid;
  return {.valid = true, .code_point = code_point, .size_bytes = size};
}

size_t WholeUtf8Size(std::string_view bytes) {
  // Back to the start of the last character, at most three bytes.
  for (size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    uint8_t byte = static_cast<uint8_t>(bytes[bytes.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    bool cut = SizeByFirst(byte) > back;
    return cut ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

std::string HexEscape(uint8_t byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace kprof
