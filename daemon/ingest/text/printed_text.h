// Steps over what programs print of lists and objects: JSON, and what Python prints of them (single quotes, tuples),
// cut off or not. Each step goes on to the end of the text where what it looks for is missing.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace kprof {

constexpr std::string_view kBrackets = "{[(";

constexpr bool IsBlank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
constexpr char CloserOf(char bracket) {
  return bracket == '{' ? '}' : bracket == '[' ? ']' : ')';
}
constexpr bool IsBracket(char c) {
  return kBrackets.find(c) != kBrackets.npos;
}
constexpr bool IsCloser(char c) {
  return c == '}' || c == ']' || c == ')';
}
bool HasBracket(std::string_view text);
bool HasQuote(std::string_view text);
// Whether a string begins there, also as Python prints one: in single quotes, where a value may stand (not in "it's"),
// and maybe behind a letter (b'...').
bool BeginsString(std::string_view json, size_t at);
// Behind the quote that closes the string that begins at `at`.
size_t StringEnd(std::string_view json, size_t at);
size_t SkipBlank(std::string_view json, size_t at);
// Behind the value at `at`, and the space behind that: at a comma, or at what closes the object.
size_t SkipMember(std::string_view json, size_t at);
// Behind what closes the bracket at `at`.
size_t SkipNest(std::string_view json, size_t at);

}  // namespace kprof
