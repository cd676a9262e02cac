// Makes safe text short enough for a terminal. Text from others is made safe by TerminalText (readable_text.h). Pure
// functions.
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

// A command line as a user would type it, safe to show: words are in quotes where they must be.
std::string CommandText(const std::vector<std::string_view>& argv);

}  // namespace kprof::cli
