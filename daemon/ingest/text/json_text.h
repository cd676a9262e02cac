// Reads and writes JSON text: numbers, strings without their escapes, values without the space between their parts, the
// members of an object.
//
// Pure; any thread. Lenient as json_scan.h is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/text/json_scan.h"

namespace kprof {

// A number in decimal, never by way of a double: a Unix time in microseconds with its decimals has more digits than a
// double holds. The point of `digits` stands before the last `places` of them: -12.50 is -1250 with 2.
struct JsonNumber {
  int64_t digits = 0;
  int places = 0;
  bool is_integer = false;  // written without a point: 3, not 3.0
};

// Nothing for a text that is no number, has an exponent or more than 18 digits, or is -0: callers keep it as a text.
// REQUIRES, as the two below: eight bytes behind `text` can be read.
std::optional<JsonNumber> ParseJsonNumber(std::string_view text);

// A number without a fraction, however it is written: 5, 5.0. Nothing for any other text.
std::optional<int64_t> ParseWhole(std::string_view text);

// Reads microseconds, with or without exponent, as ns, rounded to the nearest. Nothing for a text that is no number or
// does not fit.
std::optional<int64_t> ParseMicros(std::string_view text);

// Resolves the escapes in the text between the quotes of a string, to UTF-8. Half of a surrogate pair becomes three
// bytes as if it were a letter, which are not valid UTF-8. An unknown escape stays as it is.
std::string UnescapeJson(std::string_view text);

// A value without the space around its parts. Strings in it stay as they are written, but control characters in them
// are escaped.
std::string CompactJson(std::string_view text);

// Appends `text` as a JSON string, with quotes. Bytes that are no UTF-8 stay as they are.
void AppendJsonString(std::string& json, std::string_view text);

// The shortest text that is this double again. REQUIRES: it is finite.
std::string ShortestNumber(double value);

// Calls `see` for each member of the object that begins at `at`, with the key as it is written and the value's text,
// until it returns false. `end` as in json_scan.h. False: there is no object, it is cut off, or a value in it has more
// than `most_nesting` objects and lists open at once.
bool ForEachMember(const char* at, const char* end,
                   const std::function<bool(std::string_view key, std::string_view value)>& see,
                   int most_nesting = kAnyNesting);

}  // namespace kprof
