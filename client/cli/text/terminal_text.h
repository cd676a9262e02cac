// Text from others, safe (TerminalText) and short enough to be shown on a terminal. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/readable_text.h"

namespace kprof::cli {

// Columns that safe text takes up; each character is taken to be one wide.
size_t WidthOf(std::string_view safe_text);

// At most `width` columns, the end cut off and marked with "...".
std::string Shortened(std::string_view safe_text, size_t width);

// A command line as one would type it, safe to show: words that need it are in quotes.
std::string CommandText(const std::vector<std::string_view>& argv);

}  // namespace kprof::cli
