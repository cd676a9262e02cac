// Text for people: bytes that somebody else chose, words of a command line, times and names of signals. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kprof {

// One step through bytes that may be UTF-8: a code point, or one byte that is part of none. NextUtf8 is the one place
// that knows which bytes are valid. The client's JSON and terminal output go step by step, as they treat some
// characters in their own way.
struct Utf8Step {
  bool valid = false;
  uint32_t code_point = 0;  // of a valid step
  size_t size_bytes = 0;    // 1 for an invalid step
};

// REQUIRES: bytes is not empty. Overlong forms, surrogates and code points above U+10FFFF are not valid.
Utf8Step NextUtf8(std::string_view bytes);

// The length of the front that ends with a whole character: all bytes, or a few less when the last character is cut.
// Bytes that can never become a character count as whole.
size_t WholeUtf8Size(std::string_view bytes);

// "\x1b", for a byte or a control character.
std::string HexEscape(uint8_t byte);

// A word of a command line as people read it, and as a shell takes it back. A plain word stays; others are quoted: 'two
// words', and with control characters or bytes that are not UTF-8 $'a\x0a', as bash and zsh read it.
std::string ShellWord(std::string_view word);

// In single quotes, whatever it holds. As sh, bash and zsh read them; fish also wants backslashes doubled.
std::string SingleQuoted(std::string_view word);

// A moment as people of all places read it: "2026-11-21T10:00:00Z".
std::string UtcText(int64_t unix_s);

// A signal's name for people, the same in daemon and client: "signal 9 (SIGKILL)"; "signal 77" for one without a name.
std::string SignalName(int signal);

bool IsUtf8(std::string_view bytes);
// Makes bytes valid UTF-8: valid characters stay, any other byte becomes \xNN.
std::string ReadableText(std::string_view bytes);

// Makes bytes safe to show on one line of a terminal or a log: nothing in the text moves the cursor, changes colours or
// reorders the text after it. Control characters, also those above 0x7f, become \n, \t or \xNN; bytes that are not
// UTF-8 become \xNN; characters that reorder text become \u{202e}.
std::string TerminalText(std::string_view bytes);

// True for a character that moves a terminal's cursor, changes its colours or reorders the text after it.
bool IsUnsafeOnTerminal(uint32_t code_point);

// ReadableText, cut to about `limit_bytes` where it is longer, with "..." in place of the rest.
std::string ClippedText(std::string_view bytes, size_t limit_bytes);

}  // namespace kprof
