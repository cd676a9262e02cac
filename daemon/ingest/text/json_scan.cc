#include "daemon/ingest/text/json_scan.h"

#include <cstring>
#include <initializer_list>

namespace kprof {
namespace {

// Both of ASCII, the second in lower case.
bool IsSameInAnyCase(const char* text, const char* lower, size_t length) {
  for (size_t i = 0; i < length; ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != lower[i]) return false;
  }
  return true;
}

}  // namespace

const char* FindWordEnd(const char* at, const char* end) {
  for (const char* word : {"true", "false", "null"}) {
    const size_t length = std::strlen(word);
    if (static_cast<size_t>(end - at) >= length && std::memcmp(at, word, length) == 0) return at + length;
  }
  if (at < end && (*at == '-' || *at == '+')) ++at;
  for (const char* word : {"nan", "infinity", "inf"}) {
    const size_t length = std::strlen(word);
    if (static_cast<size_t>(end - at) >= length && IsSameInAnyCase(at, word, length)) return at + length;
  }
  return nullptr;
}

const char* FindNestEnd(const char* at, const char* end, int most_nesting) {
  int depth = 0;
  while (at < end) {
    switch (*at) {
      case '"':
        at = FindStringEnd(at + 1, end);
        if (at == nullptr) return nullptr;
        break;
      case '[':
      case '{':
        if (++depth > most_nesting) return nullptr;
        break;
      case ']':
      case '}':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
    ++at;
  }
  return nullptr;
}

const char* FindValueEnd(const char* at, const char* end, int most_nesting) {
  if (at >= end) return nullptr;
  if (*at == '"') {
    const char* quote = FindStringEnd(at + 1, end);
    return quote == nullptr ? nullptr : quote + 1;
  }
  if (*at == '[' || *at == '{') return FindNestEnd(at, end, most_nesting);
  if (const char* word = FindWordEnd(at, end); word != nullptr) return word;
  if (!BeginsNumber(*at)) return nullptr;
  return FindNumberEnd(at);
}

}  // namespace kprof
