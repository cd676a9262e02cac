// A device's peaks: rates, bandwidth, sizes, each number with who says so and how sure that is. A run's ceiling and the
// driver's numbers are put beside them here. Values; peak_table.h has the peaks of known devices, peak_checks.h the
// numbers that make no sense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/device_records.h"

namespace kprof {

// The quantities. A rate is dense, never sparse; with an accumulate it is that of the tensor or matrix units.
inline constexpr std::string_view kDenseRate = "dense_rate";
inline constexpr std::string_view kCoreDenseRate = "core_dense_rate";  // of one core, where its maker gives that too
inline constexpr std::string_view kMemoryBandwidth = "memory_bandwidth";
inline constexpr std::string_view kMemoryBandwidthDriver = "memory_bandwidth_driver";  // by bus width and clock
inline constexpr std::string_view kMemorySize = "memory_size";
inline constexpr std::string_view kCoreCount = "core_count";  // of the kind that core_kind names
inline constexpr std::string_view kL2Size = "l2_size";
inline constexpr std::string_view kSbufSize = "sbuf_size";  // a NeuronCore's memory, which programs manage: no cache

enum class PeakConfidence { kLow, kMedium, kHigh };
std::string_view PeakConfidenceName(PeakConfidence confidence);  // "high"
std::optional<PeakConfidence> PeakConfidenceByName(std::string_view name);

enum class PeakOrigin {
  kTable,     // comes with kprofd
  kOverride,  // of the administrator's file
  kDriver,    // the device's driver says so
  kMeasured,  // a run reached it
  kScaled,    // a part of the whole device's; `source` says which
};
std::string_view PeakOriginName(PeakOrigin origin);  // "table"

struct Peak {
  std::string quantity;
  std::string dtype;       // of rates: "bf16"
  std::string accumulate;  // of rates: the type it adds up in, "fp32"; empty: not of the tensor or matrix units
  double value = 0;
  std::string unit;  // TFLOP/s: 1e12 FLOP/s. GB/s: 1e9 B/s. GB, MB: as the source counts. GiB, MiB. count
  PeakConfidence confidence = PeakConfidence::kLow;
  std::string source;
  std::string note;
  PeakOrigin origin = PeakOrigin::kTable;
  bool operator==(const Peak&) const = default;
};

// "dense_rate bf16, accumulated in fp32"
std::string PeakText(const Peak& peak);
bool IsSameQuantity(const Peak& one, const Peak& other);  // with dtype and accumulate; whatever the origin

struct DevicePeaks {
  std::string device;  // the table's own name: "H100-SXM5-80GB"
  std::string vendor;  // nvidia, amd, aws
  std::string architecture;
  std::string compute_capability;  // "9.0"; empty: it has none
  std::string core_kind;           // SM, CU, NeuronCore
  std::vector<Peak> peaks;

  // The known peak, or null: never a measured one. The pointer lives as long as `peaks` stays as it is.
  const Peak* Find(std::string_view quantity, std::string_view dtype = {}, std::string_view accumulate = {}) const;
  // The measured ceiling, the last that was added, or null.
  const Peak* FindMeasured(std::string_view quantity, std::string_view dtype = {},
                           std::string_view accumulate = {}) const;
  bool operator==(const DevicePeaks&) const = default;
};

// A number as it stands in sources and messages: "989", "7672.32".
std::string PeakNumberText(double value);

// A measured ceiling: the value that a run reached on a device. A copy that streams through memory reaches about 0.92
// of the bandwidth, a large matrix product about 0.78 of the rate.
struct MeasuredCeiling {
  std::string quantity;    // memory_bandwidth or dense_rate
  std::string dtype;       // of a dense_rate
  std::string accumulate;  // of a dense_rate: as in Peak
  double value = 0;
  std::string unit;
  std::string run_id;
  int64_t unix_ns = 0;
  std::string clocks;  // the policy by which they were held; empty: nobody knows
  std::string doubts;  // the codes of the reasons against the run; empty: there are none
};

MeasuredCeiling MeasuredCeilingOf(const CeilingRow& row);

// Above this share of the peak a measurement is wrong, or the peak is: clocks above the ones that the peak is of give a
// few percent.
inline constexpr double kMostOfPeak = 1.05;

// Adds the ceiling to the numbers of `device`; none of them changes. Its confidence is lower where its run is not to be
// trusted. If several are of one quantity, FindMeasured gives the last. Fails with kBadInput for another quantity, for
// a number that no device has (peak_checks.h), and for one above kMostOfPeak of the device's peak. Where that peak is
// not known the ceiling is taken, and its note says so. A pure function.
Result<DevicePeaks> WithMeasuredCeiling(DevicePeaks device, const MeasuredCeiling& ceiling);

// The driver's facts about a device at hand. Absent: the driver does not tell.
struct DriverFacts {
  std::optional<std::string> compute_capability;  // "9.0"
  std::optional<uint32_t> core_count;             // of the kind that the device's core_kind names: SMs
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> l2_bytes;
  std::optional<uint32_t> memory_bus_bits;
  std::optional<uint32_t> max_memory_mhz;  // as NVML says it: two transfers a cycle
};

// Puts the driver's facts together with the table's peaks of the device's kind. For cores, memory and L2 the driver's
// number takes the place of the table's, which becomes its note. Bus width and clock make a bandwidth,
// memory_bandwidth_driver, which stands beside the table's; where the table has none it is memory_bandwidth. A number
// of the driver's that no device has (peak_checks.h) counts as not told. A pure function.
//
// Fails with kNotFound where the compute capabilities differ: then the name has led to the peaks of another device.
Result<DevicePeaks> WithDriverFacts(DevicePeaks device, const DriverFacts& facts);

}  // namespace kprof
