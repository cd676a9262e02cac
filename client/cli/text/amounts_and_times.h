// Numbers, amounts, durations and points in time, as people write and read them. Pure functions but for NowUnixNs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof::cli {

// The fewest digits that read back as the same double; whole numbers that a double holds exactly have no exponent. Not
// a finite number: "nan", "inf", "-inf".
std::string NumberText(double value);

// "0 B", "812 B", "1.5 KiB", "3.2 GiB".
std::string FormatBytes(int64_t size_bytes);

// A number in its unit: durations for `ns`, sizes for `bytes`, else the shortest digits and the unit.
std::string FormatAmount(double value, std::string_view unit);

// "500ms", "10s", "5m", "2h": whole numbers with a unit. kUsage for anything else, for 0 and for more than a year.
Result<int64_t> ParseDurationMs(std::string_view text);

// "812 us", "45.3 ms", "1.234 s", "2m 03s", "5h 07m", "3d 04h". Negative: "0 s" (clocks can step).
std::string FormatDuration(int64_t duration_ns);

// A column of durations in ns, to compare: "17 ns", "1.500 us", "-12.345 ms", "1,234.500 s".
std::string FormatComparableNs(double duration_ns);

// "12,345,678"; of digits, perhaps with a sign and a fraction.
std::string Grouped(std::string digits);

// For tables and progress: "4s", "3m", "5h", "12d".
std::string FormatAge(int64_t duration_ns);

// "2026-11-21 13:22:49" in the local time zone.
std::string FormatTime(int64_t unix_ns);

// Now by this machine's clock.
int64_t NowUnixNs();

}  // namespace kprof::cli
