// The peaks of all devices in a file, found by the name that the device's runtime gives it. peaks.csv comes with kprofd
// (LoadBuiltInPeaks); an administrator may have another file. peak_checks.h refuses numbers that no device has;
// device_peaks.h adds the facts that a device's driver tells. A value; any thread.
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

// The form of a file of peaks: a header, then lines of nine fields separated by commas, some of them quoted, between
// comments and empty lines. docs/peaks.md is for writers of such a file. Pure functions.
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

// Reads the lines with content, without the spaces around their fields. `file` is its name in complaints. Fails with
// kBadInput at the first line that is not of the form, is too long, or holds what a terminal would not show as it is;
// and for a file that is too large or lacks the header.
Result<std::vector<PeakLine>> ReadPeakLines(std::string_view text, const std::string& file);

// "peaks.csv:12: why; remedy", kBadInput.
Status PeakFileMistake(const std::string& file, uint64_t line, std::string why, std::string remedy);

class PeakTable {
 public:
  static constexpr size_t kMostDevices = 1'000;

  // Makes a table of a file's text. `file` is its name in complaints: "peaks.csv:12: ...". Fails with kBadInput at a
  // line that makes no sense: out of form, a number that CheckPeaks refuses, the same line twice, a name that another
  // device of the vendor has, a device without vendor or name.
  static Result<PeakTable> Parse(std::string_view text, const std::string& file);

  // Returns `base` with the lines of an administrator's file of the same form. A number takes the place of the same
  // quantity's, as a whole and with its own source; devices and names are added. Nothing is taken away. A device of the
  // base keeps its vendor. Fails as Parse does.
  static Result<PeakTable> Overridden(PeakTable base, std::string_view text, const std::string& file);

  // The peaks of a device by the name that its runtime gives it: the exact name, except for letter case and the number
  // of spaces. A name that only begins alike is another device. Null: not known. The pointer lives as long as the
  // table.
  const DevicePeaks* Find(DeviceKind kind, std::string_view runtime_name) const;

  const std::vector<DevicePeaks>& devices() const { return devices_; }
  // Possible mistakes in the files, in the form of complaints.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  class FileReader;

  std::vector<DevicePeaks> devices_;
  std::map<std::pair<std::string, std::string>, size_t> by_name_;  // vendor and name, as NormalName makes it
  std::vector<std::string> warnings_;
};

// The table that comes with kprofd: peaks.csv beside this file, which the build puts into the program
// (embed_text.cmake). Takes about a millisecond. Fails, with kBadInput, only where peaks.csv has a mistake, which a
// unit test finds.
Result<PeakTable> LoadBuiltInPeaks();

}  // namespace kprof
