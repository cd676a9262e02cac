#include "daemon/ingest/json_scan.h"

#include <cstring>
#include <initializer_list>

namespace kprof {
namespace {

const char* FindWordEnd(const char* at, const char* end) {
  for (const char* word : {"true", "false", "null", "NaN", "Infinity", "-Infinity"}) {
    const size_t length = std::strlen(word);
    if (static_cast<size_t>(end - at) >= length && std::memcmp(at, word, length) == 0) return at + length;
  }
  return nullptr;
}

}  // namespace

const char* FindNestEnd(const char* at, const char* end) {
  int depth = 0;
  while (at < end) {
    switch (*at) {
      case '"':
        at = FindStringEnd(at + 1, end);
        if (at == nullptr) return nullptr;
        break;
      case '[':
      case '{':
        if (++depth > kMostNesting) return nullptr;
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

const char* FindValueEnd(const char* at, const char* end) {
  if (at >= end) return nullptr;
  if (*at == '"') {
    const char* quote = FindStringEnd(at + 1, end);
    return quote == nullptr ? nullptr : quote + 1;
  }
  if (*at == '[' || *at == '{') return FindNestEnd(at, end);
  if (const char* word = FindWordEnd(at, end); word != nullptr) return word;
  if (!BeginsNumber(*at)) return nullptr;
  return FindNumberEnd(at);
}

}  // namespace kprof
