// Any text at all as a file of peaks, by itself and over the built-in table. What is taken must be sense: numbers that
// devices have, found by the device's name, each with its source; and so must be what becomes of them with a driver's
// facts, in a part of the device and beside what was measured. What is not taken must be complained about in one line
// that names the file and a line of it.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/devices/peaks/device_peaks.h"
#include "daemon/devices/peaks/peak_checks.h"
#include "daemon/devices/peaks/peak_scaling.h"
#include "daemon/devices/peaks/peak_table.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

void CheckText(const std::string& text) {
  KPROF_CHECK(TerminalText(text) == text);
}

// Numbers of a part may be below what a whole device has.
void CheckNumbers(const DevicePeaks& device) {
  for (const Peak& peak : device.peaks) {
    KPROF_CHECK(std::isfinite(peak.value) && peak.value > 0);
    KPROF_CHECK(!peak.source.empty() && !peak.unit.empty());
    for (const std::string& text : {peak.quantity, peak.source, peak.note}) CheckText(text);
  }
}

void CheckWhole(const DevicePeaks& device) {
  for (const PeakComplaint& complaint : CheckPeaks(device)) KPROF_CHECK(!complaint.refuses);
  CheckNumbers(device);
}

void CheckDerived(const DevicePeaks& device) {
  const DriverFacts facts{.compute_capability = "9.0",
                          .core_count = 132,
                          .memory_bytes = uint64_t{80} << 30,
                          .l2_bytes = uint64_t{50} << 20,
                          .memory_bus_bits = 5120,
                          .max_memory_mhz = 2619};
  Result<DevicePeaks> with_driver = WithDriverFacts(device, facts);
  KPROF_CHECK(with_driver.ok() || device.compute_capability != "9.0");
  for (const DevicePeaks& whole : {device, with_driver.ok() ? *with_driver : device}) {
    const MeasuredCeiling ceiling{.quantity = "memory_bandwidth", .value = 100, .unit = "GB/s", .run_id = "x"};
    Result<DevicePeaks> measured = WithMeasuredCeiling(whole, ceiling);
    if (measured.ok()) CheckNumbers(*measured);
    for (int slices : {1, 4, 8}) {
      const MigShare share{
          .sm_count = 16, .gpu_slices = 1, .compute_slices = 1, .memory_bytes = 1 << 30, .memory_slices = slices};
      Result<DevicePeaks> part = ScaledToMig(measured.ok() ? *measured : whole, share);
      if (part.ok()) CheckNumbers(*part);
    }
    for (int lnc : {1, 2}) {
      Result<DevicePeaks> part = ScaledToCores(whole, {.logical_cores = 3, .physical_per_logical = lnc});
      if (part.ok()) CheckNumbers(*part);
    }
  }
}

void CheckTable(const PeakTable& table) {
  KPROF_CHECK(table.devices().size() <= PeakTable::kMostDevices);
  for (const std::string& warning : table.warnings()) CheckText(warning);
  for (const DevicePeaks& device : table.devices()) {
    KPROF_CHECK(device.vendor == "nvidia" || device.vendor == "amd" || device.vendor == "aws");
    CheckText(device.device);
    CheckWhole(device);
    CheckDerived(device);
  }
}

void CheckResult(const Result<PeakTable>& result, const Result<PeakTable>& again) {
  KPROF_CHECK(result.ok() == again.ok());
  if (result.ok()) {
    KPROF_CHECK(result->devices() == again->devices() && result->warnings() == again->warnings());
    CheckTable(*result);
    return;
  }
  KPROF_CHECK(result.status().code() == ErrorCode::kBadInput);
  KPROF_CHECK(result.status().what().starts_with("fuzz.csv:") && !result.status().remedy().empty());
  CheckText(result.status().ToString());
  KPROF_CHECK(result.status().ToString() == again.status().ToString());
}

// Each name that stands in the text as one of a device that was taken leads to a device.
void CheckNames(const PeakTable& table, std::string_view text) {
  Result<std::vector<PeakLine>> lines = ReadPeakLines(text, "fuzz.csv");
  KPROF_CHECK(lines.ok());
  for (const PeakLine& line : *lines) {
    if (line.quantity != "name") continue;
    const DevicePeaks* found = nullptr;
    for (DeviceKind kind : {DeviceKind::kNvidia, DeviceKind::kNeuron, DeviceKind::kAmd}) {
      const DevicePeaks* of_kind = table.Find(kind, line.value);
      if (of_kind != nullptr && of_kind->device == line.device) found = of_kind;
    }
    KPROF_CHECK(found != nullptr);
  }
}

void CheckPeakFile(std::string_view text) {
  static const Result<PeakTable> built_in = LoadBuiltInPeaks();
  KPROF_CHECK(built_in.ok());
  const Result<PeakTable> alone = PeakTable::Parse(text, "fuzz.csv");
  CheckResult(alone, PeakTable::Parse(text, "fuzz.csv"));
  if (alone.ok()) CheckNames(*alone, text);
  const Result<PeakTable> over = PeakTable::Overridden(*built_in, text, "fuzz.csv");
  CheckResult(over, PeakTable::Overridden(*built_in, text, "fuzz.csv"));
  if (!over.ok()) return;
  CheckNames(*over, text);
  KPROF_CHECK(over->devices().size() >= built_in->devices().size());
  for (size_t i = 0; i < built_in->devices().size(); ++i) {
    KPROF_CHECK(over->devices()[i].device == built_in->devices()[i].device);
    KPROF_CHECK(over->devices()[i].peaks.size() >= built_in->devices()[i].peaks.size());
  }
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kprof::CheckPeakFile(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
