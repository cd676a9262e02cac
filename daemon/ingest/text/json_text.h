// What JSON text says: strings without their escapes, values without the space between their parts, the members of an
// object.
//
// Pure; any thread. Lenient as json_scan.h is; reads as it does where it says so.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "daemon/ingest/text/json_scan.h"

namespace kprof {

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
