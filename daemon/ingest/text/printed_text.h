// Steps over what programs print of lists and objects: JSON, and what Python prints of them (single quotes, tuples),
// cut off or not. Each step goes on to the end of the text where what it looks for is missing.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace kprof {

// Whether a text tells of an environment in settings (NAME=value): what printenv, export -p or env -0 print, a command
// line with settings before it, what a shell traces. It does where one of those is a variable that any process has, or
// a secret (TellsOfEnvironment): "M=16 N=32" tells nothing, "M=16 HOME=/home/who" does.
//
// Where a value ends, which quotes are its, and what else in such a text is of somebody, depends on who wrote it: so
// nothing of one is kept that does.
//
// Pure; any thread.

// False: no text like this does, also where it has escapes of JSON. Costs next to nothing; for what comes by the
// million.
bool MayHaveSettings(std::string_view text);

bool SetsVariables(std::string_view text);

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
