// What a run reached on a device, beside what the device can do at most: a measured ceiling. A copy that streams
// through memory reaches about 0.92 of the bandwidth, a large matrix product about 0.78 of the rate. A pure function.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/devices/peaks/device_peaks.h"
#include "storage/base/status.h"

namespace kprof {

struct MeasuredCeiling {
  std::string quantity;    // memory_bandwidth or dense_rate
  std::string dtype;       // of a dense_rate
  std::string accumulate;  // of a dense_rate: as in Peak
  double value = 0;
  std::string unit;
  std::string run_id;
  int64_t unix_ns = 0;
  std::string clocks;  // by which policy they were held; empty: nobody knows
  std::string doubts;  // the codes of what speaks against the run; empty: nothing does
};

// Above this share of the peak a measurement is wrong, or the peak is: clocks above the ones that the peak is of give a
// few percent.
inline constexpr double kMostOfPeak = 1.05;

// `device` with the ceiling, which is less sure where its run is not to be trusted, beside the numbers that it has;
// none of them changes. Of several of the same quantity FindMeasured gives the last. Fails with kBadInput for another
// quantity, for a number that no device has (peak_checks.h), and for one above kMostOfPeak of the device's peak. Where
// that is not known the ceiling is taken, and its note says so.
Result<DevicePeaks> WithMeasuredCeiling(DevicePeaks device, const MeasuredCeiling& ceiling);

}  // namespace kprof
