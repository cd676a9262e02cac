// The form of a file of peaks: lines of nine fields separated by commas, some of them quoted, between comments and
// empty lines, after a header. What the fields mean is peak_table.h. docs/peaks.md is for who writes one. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

inline constexpr std::string_view kPeakFileHeader =
    "device,quantity,dtype,accumulate,value,unit,confidence,source,note";
// The built-in table has 31 KB, 340 lines and 21 devices.
inline constexpr size_t kMostPeakFileBytes = size_t{1} << 20;
inline constexpr size_t kMostPeakLineBytes = 4096;
inline constexpr uint64_t kMostPeakFileLines = 20'000;

struct PeakLine {
  uint64_t number = 0;  // in the file, from 1
  std::string device;
  std::string quantity;
  std::string dtype;
  std::string accumulate;
  std::string value;
  std::string unit;
  std::string confidence;
  std::string source;
  std::string note;
};

// The lines that say something, without the spaces around their fields. `file` is what complaints call it.
// Fails with kBadInput at the first line that is not of the form, is too long, or holds what a terminal would not show
// as it is; and for a file that is too large or lacks the header.
Result<std::vector<PeakLine>> ReadPeakLines(std::string_view text, const std::string& file);

// "peaks.csv:12: why; remedy", kBadInput.
Status PeakFileMistake(const std::string& file, uint64_t line, std::string why, std::string remedy);

}  // namespace kprof
