// Text from others, made safe and short enough to be shown on a terminal: nothing in it can move the cursor, change
// colours or reorder what follows. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kprof::cli {

// Control characters become \n, \t or \xNN; bytes that are not UTF-8 \xNN; characters that reorder text \u{202e}.
std::string TerminalText(std::string_view bytes);

// Columns that safe text takes up; each character is taken to be one wide.
size_t WidthOf(std::string_view safe_text);

// At most `width` columns, the end cut off and marked with "...".
std::string Shortened(std::string_view safe_text, size_t width);

// A command line as one would type it, safe to show: words that need it are in quotes.
std::string CommandText(const std::vector<std::string_view>& argv);

}  // namespace kprof::cli
