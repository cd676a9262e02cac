#include "client/cli/text/terminal_text.h"

#include "storage/base/readable_text.h"

namespace kprof::cli {
size_t WidthOf(std::string_view safe_text) {
  size_t width = 0;
  for (char c : safe_text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

std::string_view ColumnsOf(std::string_view safe_text, size_t from, size_t count) {
  const auto skip = [&safe_text](size_t begin, size_t columns) {
    while (columns-- > 0 && begin < safe_text.size()) begin += NextUtf8(safe_text.substr(begin)).size_bytes;
    return begin;
  };
  const size_t begin = skip(0, from);
  return safe_text.substr(begin, skip(begin, count) - begin);
}

std::string Shortened(std::string_view safe_text, size_t width) {
  if (WidthOf(safe_text) <= width) return std::string(safe_text);
  return std::string(ColumnsOf(safe_text, 0, width > 3 ? width - 3 : 0)) + std::string(std::min<size_t>(width, 3), '.');
}

std::string ShortenedInMiddle(std::string_view safe_text, size_t width) {
  const size_t whole = WidthOf(safe_text);
  if (whole <= width) return std::string(safe_text);
  const size_t kept = width > 3 ? width - 3 : 0;
  const size_t tail = kept / 2;
  std::string text(ColumnsOf(safe_text, 0, kept - tail));
  text.append(std::min<size_t>(width, 3), '.');
  return text.append(ColumnsOf(safe_text, whole - tail, tail));
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
