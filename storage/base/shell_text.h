// A word of a command line as people read it, and as a shell takes it back.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

// A plain word stays; others are quoted: 'two words', and with control characters or bytes that are not UTF-8
// $'a\x0a', as bash and zsh read it.
std::string ShellWord(std::string_view word);

// In single quotes, whatever it holds. As sh, bash and zsh read them; fish also wants backslashes doubled.
std::string SingleQuoted(std::string_view word);

}  // namespace kprof
