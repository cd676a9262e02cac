#include "storage/base/readable_text.h"

#include <cstdint>

namespace kprof {
namespace {

// Length of the valid UTF-8 sequence at the start of `bytes`; 0 where there is none. Rejects overlong forms, surrogates
// and what lies above U+10FFFF.
size_t SequenceLength(std::string_view bytes) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  auto continues = [&](size_t i) { return i < bytes.size() && (at(i) & 0xc0) == 0x80; };
  unsigned char first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xe0 && at(1) < 0xa0) return 0;
    if (first == 0xed && at(1) > 0x9f) return 0;
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xf0 && at(1) < 0x90) return 0;
    if (first == 0xf4 && at(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t length = SequenceLength(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string ReadableText(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    size_t length = SequenceLength(bytes);
    if (length > 0) {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
      continue;
    }
    auto byte = static_cast<unsigned char>(bytes[0]);
    text += "\\x";
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
    bytes.remove_prefix(1);
  }
  return text;
}

std::string ClippedText(std::string_view bytes, size_t limit_bytes) {
  if (bytes.size() <= limit_bytes) return ReadableText(bytes);
  // Not in the middle of a character.
  size_t end = limit_bytes;
  while (end > 0 && limit_bytes - end < 4 && (static_cast<unsigned char>(bytes[end]) & 0xc0) == 0x80) --end;
  return ReadableText(bytes.substr(0, end)) + "...";
}

}  // namespace kprof
