#include "storage/base/shell_text.h"

#include <algorithm>
#include <cstdint>

#include "storage/base/readable_text.h"
#include "storage/base/utf8.h"

namespace kprof {
namespace {

bool IsPlainInShell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-+=./,:@%").find(c) != std::string_view::npos;
}

bool IsControl(char c) {
  return static_cast<uint8_t>(c) < 0x20 || c == 0x7f;
}

std::string InDollarQuotes(std::string_view word) {
  std::string text;
  for (char c : word) {
    if (IsControl(c)) {
      text += HexEscape(static_cast<uint8_t>(c));
      continue;
    }
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return "$'" + ReadableText(text) + "'";
}

}  // namespace

std::string SingleQuoted(std::string_view word) {
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

std::string ShellWord(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlainInShell)) return std::string(word);
  if (std::any_of(word.begin(), word.end(), IsControl) || !IsUtf8(word)) return InDollarQuotes(word);
  return SingleQuoted(word);
}

}  // namespace kprof
