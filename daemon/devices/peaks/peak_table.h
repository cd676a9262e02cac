// What is known of which device: the peaks of all devices in a file, found by the name that the device's runtime gives
// it. A value; any thread. The file that comes with kprofd is built_in_peaks.h, its form peak_lines.h, what no number
// may be peak_checks.h; what the driver of a device at hand says of it comes on top, driver_peaks.h.
//
// A line of the file is one fact about one device: a number, or, in `value` with no dtype, accumulate and unit, one of
// `vendor` (nvidia, amd, aws), `architecture`, `compute_capability`, `core_kind` (SM, CU, NeuronCore) and `name` (as
// many as it has). A device has a vendor and a name; a number has a unit, a confidence and a source.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/devices/device.h"
#include "daemon/devices/peaks/device_peaks.h"
#include "daemon/devices/peaks/peak_lines.h"
#include "storage/base/status.h"

namespace kprof {

class PeakTable {
 public:
  static constexpr size_t kMostDevices = 1'000;

  // The table that a file's text is. `file` is what complaints call it: "peaks.csv:12: ...".
  // Fails with kBadInput at a line that makes no sense: out of form (peak_lines.h), a number that CheckPeaks refuses,
  // the same line twice, a name that another device of the vendor has, a device without vendor or name.
  static Result<PeakTable> Parse(std::string_view text, const std::string& file);

  // `base` with what an administrator's file of the same form says: a number takes the place of the same quantity's, as
  // a whole and with its own source; devices and names are added. Nothing is taken away. The vendor of a device that
  // the base has stays. Fails as Parse does.
  static Result<PeakTable> Overridden(PeakTable base, std::string_view text, const std::string& file);

  // What is known of a device that its runtime calls so: exactly, but for letter case and how many spaces there are. A
  // name that only begins alike is another device. Null: nothing. The pointer lives as long as the table.
  const DevicePeaks* Find(DeviceKind kind, std::string_view runtime_name) const;

  const std::vector<DevicePeaks>& devices() const { return devices_; }
  // What the files say that may be a mistake, in the form of complaints.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  class FileReader;

  std::vector<DevicePeaks> devices_;
  std::map<std::pair<std::string, std::string>, size_t> by_name_;  // vendor and name, as NormalName makes it
  std::vector<std::string> warnings_;
};

}  // namespace kprof
