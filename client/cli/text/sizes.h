// Amounts as people read them. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kprof::cli {

// "0 B", "812 B", "1.5 KiB", "3.2 GiB".
std::string FormatBytes(int64_t size_bytes);

// A number in its unit: durations for `ns`, sizes for `bytes`, else the shortest digits and the unit.
std::string FormatAmount(double value, std::string_view unit);

}  // namespace kprof::cli
