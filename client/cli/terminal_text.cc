#include "client/cli/terminal_text.h"

#include <cstdio>

#include "storage/base/shell_text.h"
#include "storage/base/utf8.h"

namespace kprof::cli {
namespace {

bool Reorders(uint32_t code_point) {
  return (code_point >= 0x202a && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069) ||
         code_point == 0x200e || code_point == 0x200f || code_point == 0x061c || code_point == 0x2028 ||
         code_point == 0x2029;
}

}  // namespace

std::string TerminalText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    Utf8Step step = NextUtf8(bytes);
    uint8_t first = static_cast<uint8_t>(bytes[0]);
    if (!step.valid) {
      text += HexEscape(first);
    } else if (first == '\n') {
      text += "\\n";
    } else if (first == '\t') {
      text += "\\t";
    } else if (step.code_point < 0x20 || (step.code_point >= 0x7f && step.code_point < 0xa0)) {
      text += HexEscape(static_cast<uint8_t>(step.code_point));
    } else if (Reorders(step.code_point)) {
      char escaped[16];
      std::snprintf(escaped, sizeof(escaped), "\\u{%x}", step.code_point);
      text += escaped;
    } else {
      text += bytes.substr(0, step.size_bytes);
    }
    bytes.remove_prefix(step.size_bytes);
  }
  return text;
}

size_t WidthOf(std::string_view safe_text) {
  size_t width = 0;
  for (char c : safe_text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

std::string Shortened(std::string_view safe_text, size_t width) {
  if (WidthOf(safe_text) <= width) return std::string(safe_text);
  size_t keep = width > 3 ? width - 3 : 0;
  std::string text;
  while (keep > 0) {
    size_t size = NextUtf8(safe_text).size_bytes;
    text += safe_text.substr(0, size);
    safe_text.remove_prefix(size);
    --keep;
  }
  return text + std::string(std::min<size_t>(width, 3), '.');
}

std::string CommandText(const std::vector<std::string_view>& argv) {
  std::string text;
  for (std::string_view word : argv) {
    if (!text.empty()) text += ' ';
    text += TerminalText(ShellWord(word));  // which leaves characters that reorder text
  }
  return text;
}

}  // namespace kprof::cli
