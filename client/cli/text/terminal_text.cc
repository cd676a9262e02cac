#include "client/cli/text/terminal_text.h"

#include "storage/base/readable_text.h"

namespace kprof::cli {
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
