// Lists and objects as traces have them, as JSON that any reader takes. Tools write more than that: words for numbers
// that are none, control characters and bytes that are not UTF-8 in strings, escapes that there are not, lists in lists
// a hundred thousand deep.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

constexpr size_t kMostJsonNesting = 900;  // SQLite's JSON functions take 1000

// Appends `text`, as it is where it is JSON. Else a word that JSON does not know becomes a string, what cannot stand in
// a string is escaped, bytes that are not UTF-8 become the text \xNN; and what is no list or object for all that, or
// nested deeper than kMostJsonNesting, becomes one string.
void AppendStrictJson(std::string_view text, std::string& json);

// As a JSON string, with its quotes.
void AppendStrictText(std::string_view text, std::string& json);
bool IsJsonNumber(std::string_view text);

}  // namespace kprof
