// Makes of a trace's lists and objects JSON that any reader takes. Tools write more than JSON: words for values that
// are no number, control characters and bytes that are not UTF-8 in strings, unknown escapes, lists nested a hundred
// thousand deep.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

constexpr size_t kMostJsonNesting = 900;  // SQLite's JSON functions take 1000

// Appends `text`, unchanged if it is JSON. Else words that JSON does not know become strings, characters that no string
// may hold are escaped, and bytes that are not UTF-8 become the text \xNN. A text that is still no list or object, or
// is nested deeper than kMostJsonNesting, becomes one string.
void AppendStrictJson(std::string_view text, std::string& json);

// Appends `text` as a JSON string, with its quotes.
void AppendStrictText(std::string_view text, std::string& json);
bool IsJsonNumber(std::string_view text);

}  // namespace kprof
