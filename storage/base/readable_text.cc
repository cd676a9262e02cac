#include "storage/base/readable_text.h"

#include "storage/base/utf8.h"

namespace kprof {

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = NextUtf8(bytes);
    if (!step.valid) return false;
    bytes.remove_prefix(step.size_bytes);
  }
  return true;
}

std::string ReadableText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = NextUtf8(bytes);
    if (step.valid) {
      text += bytes.substr(0, step.size_bytes);
    } else {
      text += HexEscape(static_cast<uint8_t>(bytes[0]));
    }
    bytes.remove_prefix(step.size_bytes);
  }
  return text;
}

std::string ClippedText(std::string_view bytes, size_t limit_bytes) {
  if (bytes.size() <= limit_bytes) return ReadableText(bytes);
  const std::string_view kept = bytes.substr(0, limit_bytes);
  return ReadableText(kept.substr(0, WholeUtf8Size(kept))) + "...";
}

}  // namespace kprof
