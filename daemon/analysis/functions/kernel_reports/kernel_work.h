// Work of a launch as its counters tell it: arithmetic by type of number, and bytes that each level of the memory
// moved. Also the same as a stage's maker tells it (launch/given/stage_costs.h), and the roof of a device above either.
//
// Units: FLOP, bytes, ns, TFLOP/s, GB/s, FLOP/byte. Pure but for the reports that it reads; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/devices/peaks/device_peaks.h"

namespace kprof {

// Arithmetic of one type of number. `on_tensor_cores` has a peak of its own.
struct WorkKind {
  std::string dtype;  // "fp32", "bf16", ...: as the table of peaks has it
  bool on_tensor_cores = false;
  // The type that it adds up in, as the table of peaks has it; empty: not of the tensor cores.
  std::string_view accumulate() const { return on_tensor_cores ? "fp32" : ""; }
  bool operator<(const WorkKind& other) const {
    return std::tie(dtype, on_tensor_cores) < std::tie(other.dtype, other.on_tensor_cores);
  }
};

enum class MemoryLevel : uint8_t { kDram, kL2, kL1 };
constexpr size_t kMemoryLevels = 3;
std::string_view MemoryLevelName(MemoryLevel level);  // "dram"

struct KernelWork {
  std::map<WorkKind, double> flops;  // those that are counted; 0 where none was executed
  std::array<std::optional<double>, kMemoryLevels> bytes;
  double ns = 0;  // of the launches that are counted; 0: not known
  std::vector<std::string> warnings;

  double all_flops() const;
  // The kind with most FLOP; null: none is counted, or all are 0.
  const WorkKind* most() const;
  std::optional<double> dram_bytes() const { return bytes[static_cast<size_t>(MemoryLevel::kDram)]; }
};

// Work of all launches of a kernel, added up, over those that have a duration and count it.
KernelWork WorkOf(const KernelReports& reports, const ReportKernel& kernel);

// The peak of one kind of work, or of a bandwidth.
struct Ceiling {
  double value = 0;  // TFLOP/s or GB/s
  std::string confidence;
  std::string source;
};
Ceiling CeilingOf(const Peak& peak);

// The ceilings above a kernel: those of the table of peaks for its device, and those that its report gives for the
// clocks at which it was measured.
class KernelRoof {
 public:
  // `fallback_name`: of the device, where the report names none. Fails only as PeaksInUse does.
  static Result<KernelRoof> Of(const KernelReports& reports, const ReportKernel& kernel,
                               const std::string& fallback_name);

  // The name of the device; empty: nobody knows it.
  const std::string& device_name() const { return device_name_; }
  bool is_known() const { return peaks_ != nullptr; }
  const DevicePeaks* peaks() const { return peaks_; }  // null: the table does not have the device
  // By the table, else by the report.
  std::optional<Ceiling> RateOf(const WorkKind& kind) const;
  std::optional<Ceiling> Bandwidth(MemoryLevel level) const;
  // By the report alone, at the clocks of the measurement.
  std::optional<Ceiling> ReportedRateOf(const WorkKind& kind) const;
  std::optional<Ceiling> ReportedBandwidth(MemoryLevel level) const;

 private:
  std::string device_name_;
  const DevicePeaks* peaks_ = nullptr;  // of a table that lives as long as the program
  std::optional<double> ffma_rate_;     // TFLOP/s
  std::array<std::optional<double>, kMemoryLevels> bandwidths_;
};

// Where a kernel stands under its roof. Null: it takes what is not known.
struct RoofPoint {
  std::optional<double> achieved_tflops;
  std::optional<double> achieved_gb_s;
  std::optional<double> intensity;   // FLOP/byte
  std::optional<double> attainable;  // TFLOP/s at that intensity
  std::optional<double> percent;     // the least time that it takes at the peaks, of its time
  std::optional<double> ridge;       // FLOP/byte
  std::optional<Ceiling> rate;
  std::optional<Ceiling> bandwidth;
};
RoofPoint PointUnder(const KernelRoof& roof, const KernelWork& work, MemoryLevel level);

}  // namespace kprof
