// Bytes that somebody else chose, as text. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

bool IsUtf8(std::string_view bytes);
// That can be sent as UTF-8: what is valid stays, any other byte becomes \xNN.
std::string ReadableText(std::string_view bytes);

// That can be shown, on one line of a terminal or a log: nothing in it moves the cursor, changes colours or reorders
// what follows. Control characters, those above 0x7f too, become \n, \t or \xNN; bytes that are not UTF-8 \xNN;
// characters that reorder text \u{202e}.
std::string TerminalText(std::string_view bytes);

// Readable, and cut to about `limit_bytes` where it is longer, with "..." in place of the rest.
std::string ClippedText(std::string_view bytes, size_t limit_bytes);

}  // namespace kprof
