#include "storage/sandbox/command_text.h"

#include <algorithm>
#include <cstdint>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-+=./,:@%").find(c) != std::string_view::npos;
}

bool IsControl(char c) {
  return static_cast<uint8_t>(c) < 0x20 || c == 0x7f;
}

std::string InSingleQuotes(std::string_view word) {
  std::string text = "'";
  for (char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string InDollarQuotes(std::string_view word) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (char c : word) {
    if (IsControl(c)) {
      text += "\\x";
      text += kHex[static_cast<uint8_t>(c) >> 4];
      text += kHex[static_cast<uint8_t>(c) & 15];
      continue;
    }
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return "$'" + ReadableText(text) + "'";
}

std::string WordText(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return std::string(word);
  if (std::any_of(word.begin(), word.end(), IsControl) || !IsUtf8(word)) return InDollarQuotes(word);
  return InSingleQuotes(word);
}

}  // namespace

std::string CommandText(std::string_view zero_ended_arguments) {
  std::string text;
  while (!zero_ended_arguments.empty()) {
    const size_t end = zero_ended_arguments.find('\0');
    if (!text.empty()) text += ' ';
    text += WordText(zero_ended_arguments.substr(0, end));
    if (end == std::string_view::npos) break;
    zero_ended_arguments.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace kprof
