// The roofline of the device that a part's work ran on: the least time that an operator's arithmetic and traffic take
// at the device's peaks, by the table of peaks in use (daemon/devices/peaks/peaks_in_use.h). Nothing where the trace
// does not name its device, the table does not have it, or the type of the numbers leaves the rate open.
//
// On the reader's thread. Finding it costs a look at the part's facts; for a named device also a reading of the table,
// a millisecond.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/functions/host/operator_costs.h"
#include "daemon/analysis/operators/trace_part.h"
#include "daemon/devices/peaks/device_peaks.h"
#include "storage/base/status.h"

namespace kprof {

struct RoofTime {
  double ns = 0;
  bool is_compute_bound = false;  // else the memory's bandwidth bounds it
};

class DeviceRoof {
 public:
  // The part's device, by the names in Kineto's deviceProperties: all of them, or those of devices with tracks, must be
  // one.
  static Result<DeviceRoof> Find(const TracePart& part);

  // The least time of one call; `types`: its `Input type` as the profiler writes it. The first two tensors' type tells
  // the rate; float may run as TF32 or not, and has a time only where memory bounds it either way.
  std::optional<RoofTime> TimeOf(const OperatorCost& cost, std::string_view types);

  // The kinds of devices that the trace names. Of more than one nothing is known.
  const std::vector<std::string>& names() const { return names_; }
  // The peaks that TimeOf took, with who says so; or why it took none.
  std::string Text() const;

 private:
  std::vector<std::string> names_;
  std::optional<DevicePeaks> peaks_;
  std::set<std::string> rates_;  // the texts of those that were taken
};

}  // namespace kprof
