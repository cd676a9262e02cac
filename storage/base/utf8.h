// Going through bytes that may be UTF-8, one character at a time: the one place that knows what is valid. Making bytes
// readable as they are is readable_text.h; the client's JSON and terminal output treat some characters in their own
// way. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kprof {

// One step through bytes that may be UTF-8: a code point, or one byte that is part of none.
struct Utf8Step {
  bool valid = false;
  uint32_t code_point = 0;  // of a valid step
  size_t size_bytes = 0;    // 1 for an invalid step
};

// REQUIRES: bytes is not empty. Overlong forms, surrogates and code points above U+10FFFF are not valid.
Utf8Step NextUtf8(std::string_view bytes);

// How many bytes at the front end with a whole character: all of them, or a few less where the last character is cut
// in half. Bytes that can never become a character count as whole.
size_t WholeUtf8Size(std::string_view bytes);

// "\x1b", for a byte or a control character.
std::string HexEscape(uint8_t byte);

}  // namespace kprof
