// Steps over JSON text: finds the end of a string, a number, an object. json_text.h reads their meaning.
//
// More lenient than JSON, because tools write text that is not quite JSON: control characters may stand in strings; the
// words of C and Python for numbers that are none (nan, -inf, Infinity) are values. A step that does not find its end
// returns null, whether the text is cut off or is no JSON.
//
// Pure; any thread. REQUIRES: kScanSlackBytes of zeros stand behind `end`; they are read.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace kprof {

constexpr size_t kScanSlackBytes = 64;
constexpr int kAnyNesting = INT_MAX;  // of objects and lists in each other

inline const char* SkipSpace(const char* at) {
  while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') ++at;
  return at;
}

// `at` stands behind the opening quote. Returns the place of the closing quote, or null.
inline const char* FindStringEnd(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  while (at < end) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(found));
    if (mask == 0) {
      at += 16;
      continue;
    }
    at += __builtin_ctz(mask);
    if (at >= end) return nullptr;
    if (*at == '"') return at;
    at += 2;  // what is escaped
  }
#else
  while (at < end) {
    if (*at == '"') return at;
    at += *at == '\\' ? 2 : 1;
  }
#endif
  return nullptr;
}

inline bool BeginsNumber(char c) {
  return c == '-' || (c >= '0' && c <= '9');
}

// The place behind all characters that may be part of a number.
inline const char* FindNumberEnd(const char* at) {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i from_minus = _mm_sub_epi8(bytes, _mm_set1_epi8('-'));  // - . / 0 to 9 are 0 to 12
  const __m128i minus_to_nine = _mm_cmpeq_epi8(_mm_min_epu8(from_minus, _mm_set1_epi8('9' - '-')), from_minus);
  const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('/'));
  const __m128i e = _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('e'));
  const __m128i plus = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('+'));
  const __m128i parts = _mm_or_si128(_mm_andnot_si128(slash, minus_to_nine), _mm_or_si128(e, plus));
  const auto others = ~static_cast<unsigned>(_mm_movemask_epi8(parts)) & 0xffffU;
  if (others != 0) return at + __builtin_ctz(others);
  at += 16;
#endif
  while ((*at >= '0' && *at <= '9') || *at == '.' || *at == '-' || *at == '+' || *at == 'e' || *at == 'E') ++at;
  return at;
}

// `at` stands on a bracket or brace. Returns the place behind the one that closes it; null: the text ends before, or
// more than `most_nesting` are open at once.
const char* FindNestEnd(const char* at, const char* end, int most_nesting = kAnyNesting);

// `at` stands on the first letter of true, false, null, or of nan and the like. Returns the place behind the word, or
// null.
const char* FindWordEnd(const char* at, const char* end);

// `at` stands on the first character of a value of any kind. Returns the place behind the value, or null.
const char* FindValueEnd(const char* at, const char* end, int most_nesting = kAnyNesting);

}  // namespace kprof
