// Numbers that no device has: a slip by 1000, a sparse rate among the dense ones, a unit that is another quantity's.
// Pure functions. peak_table.h checks a file's form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "daemon/devices/peaks/device_peaks.h"

namespace kprof {

// The ridge point: the FLOP per byte from which on a kernel is bound by the rate and not by the bandwidth. Those of
// today's devices, dense, lie between 117 and 419; an H100's with its sparse rate would be 591, and a slip by 1000 is
// outside of the range.
inline constexpr double kLeastRidge = 50;
inline constexpr double kMostRidge = 1000;
inline constexpr double kSuspectRidge = 450;

struct PeakComplaint {
  bool refuses = true;           // else a warning
  size_t peak = 0;               // the device's peak that it is about
  std::optional<size_t> beside;  // and the other one, where it is about two
  std::string why;
  std::string remedy;
};

// The fault of one number by itself: its quantity, dtype, accumulate or unit is not known or says sparse, or its value
// is not finite, not above zero or too far from any device's.
std::optional<PeakComplaint> CheckPeak(const Peak& peak);

// The same for all peaks of the device, and: the same quantity twice (measured ones may be), and a ridge point out of
// range, of bf16, or of fp16 where there is no bf16. A ridge above kSuspectRidge is a warning.
std::vector<PeakComplaint> CheckPeaks(const DevicePeaks& device);

}  // namespace kprof
