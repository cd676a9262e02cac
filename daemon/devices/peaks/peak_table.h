// What is known of which device: the peaks of all devices in a file, found by the name that the device's runtime gives
// it. A value; any thread. The file that comes with kprofd is peak_table.h, its form peak_table.h, what no number
// may be peak_checks.h; what the driver of a device at hand says of it comes on top, device_peaks.h.
//
// A line of the file is one fact about one device: a number, or, in `value` with no dtype, accumulate and unit, one of
// `vendor` (nvidia, amd, aws), `architecture`, `compute_capability`, `core_kind` (SM, CU, NeuronCore) and `name` (as
// many as it has). A device has a vendor and a name; a number has a unit, a confidence and a source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/devices/device_book.h"
#include "daemon/devices/peaks/device_peaks.h"
#include "storage/base/status.h"

namespace kprof {

// The form of a file of peaks: lines of nine fields separated by commas, some of them quoted, between comments and
// empty lines, after a header. What the fields mean is peak_table.h. docs/peaks.md is for who writes one. Pure
// functions.
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

class PeakTable {
 public:
  static constexpr size_t kMostDevices = 1'000;

  // The table that a file's text is. `file` is what complaints call it: "peaks.csv:12: ...".
  // Fails with kBadInput at a line that makes no sense: out of form (peak_table.h), a number that CheckPeaks refuses,
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

// The table that comes with kprofd: peaks.csv beside this file, which the build puts into the program
// (embed_text.cmake).

// Takes about a millisecond. Fails, with kBadInput, only where peaks.csv has a mistake, which a unit test finds.
Result<PeakTable> LoadBuiltInPeaks();

}  // namespace kprof
