// What JSON text says: strings without their escapes, values without the space between their parts, the members of an
// object.
//
// Pure; any thread. Lenient as json_scan.h is; reads as it does where it says so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/text/json_scan.h"

namespace kprof {

// Numbers in JSON text as what they say in decimal, never by way of a double: a Unix time in microseconds with its
// decimals has more digits than a double holds.
//
// Pure; any thread. Reads up to eight bytes behind a text, which must be there.

// `digits` without their point, which stands before the last `places` of them: -12.50 is -1250 with 2.
struct JsonNumber {
  int64_t digits = 0;
  int places = 0;
  bool is_integer = false;  // written without a point: 3, not 3.0
};

// Nothing for what is no number, has an exponent, more than 18 digits, or is -0: that is kept as the text it is.
std::optional<JsonNumber> ParseJsonNumber(std::string_view text);

// A number without a fraction, however it is written: 5, 5.0. Nothing for any other.
std::optional<int64_t> ParseWhole(std::string_view text);

// Microseconds in ns, what is less than one rounded to the nearest. Exponents are understood. Nothing for what is no
// number or does not fit.
std::optional<int64_t> ParseMicros(std::string_view text);

// What stands between the quotes of a string, without escapes, as UTF-8; half of a surrogate pair becomes the three
// bytes that it would have if it were a letter, which are no UTF-8, an escape that is none stays as it is.
std::string UnescapeJson(std::string_view text);

// A value without the space around its parts. Strings in it stay as they are written, but for control
// characters, which are escaped.
std::string CompactJson(std::string_view text);

// Appends a text with its quotes. Bytes that are no UTF-8 stay as they are.
void AppendJsonString(std::string& json, std::string_view text);

// The shortest text that is this double again. REQUIRES: it is finite.
std::string ShortestNumber(double value);

// Calls `see` for each member of the object that begins at `at`, with the key as it is written and the value's text,
// until it returns false. `end` as in json_scan.h. False where the object is cut off, or is none, or a value in it has
// more objects and lists in each other than that.
bool ForEachMember(const char* at, const char* end,
                   const std::function<bool(std::string_view key, std::string_view value)>& see,
                   int most_nesting = kAnyNesting);

}  // namespace kprof
