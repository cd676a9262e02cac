// Bytes that somebody else chose, as text. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kprof {

// Going through bytes that may be UTF-8, one character at a time: the one place that knows what is valid. Making bytes
// readable as they are is readable_text.h; the client's JSON and terminal output treat some characters in their own
// way. Pure functions.

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

// A word of a command line as people read it, and as a shell takes it back.

// A plain word stays; others are quoted: 'two words', and with control characters or bytes that are not UTF-8
// $'a\x0a', as bash and zsh read it.
std::string ShellWord(std::string_view word);

// In single quotes, whatever it holds. As sh, bash and zsh read them; fish also wants backslashes doubled.
std::string SingleQuoted(std::string_view word);

// A moment as people of all places read it.

// "2026-11-21T10:00:00Z"
std::string UtcText(int64_t unix_s);

// What a signal is called wherever people read of one: daemon and client say it alike.

// "signal 9 (SIGKILL)"; "signal 77" for one without a name.
std::string SignalName(int signal);

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
