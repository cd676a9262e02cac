// Text that programs print. Finds texts that set environment variables, and steps over lists and objects: JSON, and
// Python's (single quotes, tuples), cut off or not. A step goes to the end of the text when its own end is missing.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace kprof {

// A quick check, for texts that come by the million. False: SetsVariables is false for this text, also once its JSON
// escapes are resolved.
bool MayHaveSettings(std::string_view text);

// True if a text tells an environment in settings (NAME=value): the output of printenv, export -p or env -0, a command
// line with settings before it, a shell's trace. One of the settings must be a variable that any process has, or a
// secret (TellsOfEnvironment): "M=16 N=32" tells nothing, "M=16 HOME=/home/who" does.
//
// The end of a value, its quotes, and other private words in such a text depend on the program that wrote it. So
// nothing of such a text is kept.
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
// True if the quote of a string stands at `at`. Single quotes, as Python prints them, count where a value may stand
// (not in "it's"), also behind a letter (b'...').
bool BeginsString(std::string_view json, size_t at);
// The place behind the quote that closes the string at `at`.
size_t StringEnd(std::string_view json, size_t at);
size_t SkipBlank(std::string_view json, size_t at);
// The place behind the value at `at` and the space behind that: a comma, or the closing bracket of the object.
size_t SkipMember(std::string_view json, size_t at);
// The place behind the bracket that closes the one at `at`.
size_t SkipNest(std::string_view json, size_t at);

}  // namespace kprof
