// Appends JSON to a text, for exports. Numbers keep every digit that the part has.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kprof {

// A quoted string. Characters that may not stand in a string are escaped, and so is half of a surrogate pair; all other
// bytes stay.
void AppendJsonText(std::string& out, std::string_view text);
void AppendInteger(std::string& out, int64_t value);
// Nanoseconds as microseconds, without needless zeros: 1.5.
void AppendMicros(std::string& out, int64_t nanos);
// A packed decimal (event_args.h), with as many places as it has.
void AppendDecimal(std::string& out, int64_t packed);
// A sample as event_args.h writes it; a number that JSON does not know becomes a string.
void AppendSample(std::string& out, double value);

// True for an integer in any reader of JSON: digits without needless zeros, and not too many.
bool IsPlainInteger(std::string_view text);
// A plain integer as a number, any other text as a string.
void AppendNumberOrText(std::string& out, std::string_view text);
// A text that a source had as a value: a list, an object, a number or a word. Any other text becomes a string.
void AppendRawJson(std::string& out, std::string_view text);

}  // namespace kprof
