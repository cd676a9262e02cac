// The quantities that analyses of kernel reports ask for, and the metrics of Nsight Compute that give each. Names
// differ between generations of devices and versions of the tool: a quantity has several, and the first that a report
// has counts.
//
// Here is also what tells a metric's nature by its name: a percentage, a rate, a count. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kprof {

enum class Quantity : uint8_t {
  kDuration,
  // Speed of light: percent of what the device could do.
  kComputeSol,
  kMemorySol,
  kDramThroughput,
  kL1Throughput,
  kL2Throughput,
  kTensorPipe,
  kFmaPipe,
  kIssueSlots,
  // Occupancy and launch.
  kAchievedOccupancy,
  kTheoreticalOccupancy,
  kLimitBlocks,
  kLimitRegisters,
  kLimitShared,
  kLimitWarps,
  kLimitBarriers,
  kWaves,
  kRegisters,
  kSharedPerBlock,
  kGridBlocks,
  kBlockThreads,
  kSmCount,
  // Memory.
  kL1Hit,
  kL2Hit,
  kLocalLoads,
  kLocalStores,
  kSpillBytes,
  kLoadCoalescing,
  kStoreCoalescing,
  kLoadSectors,
  kStoreSectors,
  kGlobalSectors,
  kGlobalSectorsIdeal,
  kSharedWavefronts,
  kSharedWavefrontsIdeal,
  kLoadConflicts,
  kStoreConflicts,
  kLoadWavefronts,
  kStoreWavefronts,
  kDramBytes,
  kDramReadBytes,
  kDramWriteBytes,
  kDramRate,
  kL2Bytes,
  kL2Sectors,
  kL1Bytes,
  kL1Sectors,
  // Warps.
  kInstructions,
  kActiveThreads,
  kBranchUniformity,
  kStallLongScoreboard,
  kStallShortScoreboard,
  kStallBarrier,
  kStallMathPipe,
  kStallMioThrottle,
  kStallLgThrottle,
  kStallWait,
  kIssueLatency,
  // Work units beside each other.
  kSmCyclesMin,
  kSmCyclesMax,
  kSmCyclesMean,
  // Clocks, and the device's own peaks at them.
  kSmClock,
  kSmspClock,
  kDramClock,
  kL2Clock,
  kL1Clock,
  kPeakFfma,
  kPeakDramBytes,
  kPeakL2Bytes,
  kPeakL1Bytes,
};
constexpr size_t kQuantities = static_cast<size_t>(Quantity::kPeakL1Bytes) + 1;

struct QuantityWords {
  Quantity quantity;
  const char* label;    // for people: "DRAM throughput"
  const char* section;  // that it is shown under
  const char* unit;     // "%", "ns", "byte", "inst"; empty: a count
  // Metrics, the most exact one first.
  std::span<const std::string_view> names;
  const char* healthy = "";  // "> 60"; empty: there is no range
  const char* issue = "";    // outside of the range
  const char* hint = "";
};
const QuantityWords& WordsOf(Quantity quantity);

// The label of one of the quantity's metrics: that of the quantity, but for metrics that measure something a little
// different and stand in its place where it is not there.
std::string_view LabelOf(const QuantityWords& words, std::string_view metric);

// True for the names of two metrics that measure the same of different operations of the tensor pipe (hmma, imma,
// dmma): how busy the pipe is, is the largest of them.
bool AreTensorPeers(std::string_view metric, std::string_view other);

// The metrics that count arithmetic: their names begin so.
inline constexpr std::string_view kTensorOpsPrefix = "sm__ops_path_tensor_";
inline constexpr std::string_view kTensorInstructions = "sm__inst_executed_pipe_tensor.sum";

// True for the metrics that analyses use: those of quantities, and those that count arithmetic.
bool IsReportMetric(std::string_view name);

// A percentage, which cannot be above 100.
bool IsPercentMetric(std::string_view name);
// Its mean over launches is one by time: a percentage, a ratio, a rate. Of others (counts, bytes, registers) it is the
// mean of a launch.
bool IsMeanByTime(std::string_view name);

// True if `value` is in the quantity's healthy range, or it has none.
bool IsHealthy(const QuantityWords& words, double value);

}  // namespace kprof
