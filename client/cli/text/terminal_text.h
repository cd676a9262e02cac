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

// The `count` columns from the column `from` on, or as many as there are.
std::string_view ColumnsOf(std::string_view safe_text, size_t from, size_t count);

// At most `width` columns, the end cut off and marked with "...".
std::string Shortened(std::string_view safe_text, size_t width);

// At most `width` columns, the middle cut out and marked with "...".
std::string ShortenedInMiddle(std::string_view safe_text, size_t width);

// A command line as a user would type it, safe to show: words are in quotes where they must be.
std::string CommandText(const std::vector<std::string_view>& argv);

}  // namespace kprof::cli
