// One record of RFC 4180. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace kprof::cli {

// Appends one field; `first` fields have no comma before them. Text with commas, quotes, CR, LF or spaces at an end is
// quoted, and so is empty text, to tell it from an absent value (AppendCsvAbsent).
void AppendCsvField(std::string& out, std::string_view text, bool first);
void AppendCsvAbsent(std::string& out, bool first);
void AppendCsvEnd(std::string& out);

}  // namespace kprof::cli
