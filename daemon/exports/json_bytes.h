// JSON as exports write it: appended to a text. Numbers keep every digit that a part has of them.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kprof {

// Quoted. What is not to stand in a string is escaped, and so is half of a surrogate pair; all other bytes stay.
void AppendJsonText(std::string& out, std::string_view text);
void AppendInteger(std::string& out, int64_t value);
// Nanoseconds as microseconds, without needless zeros: 1.5.
void AppendMicros(std::string& out, int64_t nanos);
// Of event_args.h: as many places as it has.
void AppendDecimal(std::string& out, int64_t packed);
// As event_args.h has it; one that JSON does not know, as a string.
void AppendSample(std::string& out, double value);

// As JSON, in any reader: digits without needless zeros, few enough for all.
bool IsPlainInteger(std::string_view text);
// As a number where it is one, else as a string.
void AppendNumberOrText(std::string& out, std::string_view text);
// Text that a source had as a value: a list, an object, a number or a word. A string where it is nothing like that.
void AppendRawJson(std::string& out, std::string_view text);

}  // namespace kprof
