// Numbers of each device of a part, and of a run of many ranks: findings of traces and the summary are made of them.
// They are worked out once, in one pass over the work of the devices and one over the calls of the host.
//
// A metric that a trace does not have has no value: "no launches are recorded" is not "the host was never late".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/kernel_types.h"
#include "daemon/analysis/functions/launches/idle_gaps.h"

namespace kprof {

// Gaps are those between the first and the last work of the device.
enum class TraceMetric : uint8_t {
  kTotalNs,
  kBusyNs,
  kKernels,
  kCommunicationNs,
  kExposedCommunicationNs,
  kCopyOnlyNs,
  kLaunches,
  kHostWaitNs,
  kSyncWaitNs,
  kSyncGaps,
  kDataWaitNs,
  kDataGaps,
  kAllocationWaitNs,
  kSteadyAllocationWaitNs,
  kSteadyAllocationGaps,
  kLaunchWaitNs,
  kLaunchGaps,
  kHostWorkNs,
  kHostWorkGaps,
  kMedianKernelNs,
  kMeanLaunchNs,
  kTinyKernels,
  kTinyGapNs,
  kSmallCopies,
  kSmallCopyBytes,
  kShortestCopyNs,
  kPageableCopies,
  kPageableNs,
  kExposedPageableNs,
  kMatrixNs,
  kPlainMatrixNs,
  kSequenceLength,
  kSequenceCount,
  kSequenceGapNs,
  kIdleBetweenNs,
  // These are of a run of several ranks.
  kRanks,
  kMostComputeNs,
  kMostComputeRank,
  kMeanComputeNs,
};
constexpr size_t kTraceMetrics = static_cast<size_t>(TraceMetric::kMeanComputeNs) + 1;

struct MetricWords {
  const char* name = "";  // in snake_case, its unit at the end
  const char* unit = "";  // "ns", "bytes", "count", ""
};
const MetricWords& WordsOf(TraceMetric metric);

constexpr int64_t kTinyKernelNs = 5'000;        // a kernel is tiny that is shorter
constexpr int64_t kSmallCopyLimit = 64 << 10;   // a copy is small that has fewer bytes
constexpr int64_t kGraphNodeNs = 1'000;         // what lies between two kernels of a graph, at most
constexpr int64_t kLaunchLimitNs = 1'000'000;   // no launch takes longer to be made: the host did something else
constexpr int64_t kKernelWaitLimitNs = 30'000;  // as option kernel-wait of idle-breakdown has it

class TraceMetrics {
 public:
  // Names of kernels that a finding is about.
  enum Subject : uint8_t { kNoKernel, kPlainMatrixKernel, kSequenceKernel, kCommunicationKernel, kSubjects };

  void Set(TraceMetric metric, int64_t value) { values_[static_cast<size_t>(metric)] = value; }
  std::optional<int64_t> Find(TraceMetric metric) const { return values_[static_cast<size_t>(metric)]; }
  // REQUIRES: it has a value.
  int64_t operator[](TraceMetric metric) const { return *values_[static_cast<size_t>(metric)]; }

  std::array<std::string, kSubjects> kernels;

 private:
  std::array<std::optional<int64_t>, kTraceMetrics> values_;
};

// Reasons why a device did nothing. Together they are all of its idle time.
enum class IdleReason : uint8_t {
  kSync,        // the host waited for the device, and launched the next work behind that
  kAllocation,  // the launching thread allocated or freed memory
  kData,        // it waited for its data loader
  kLaunch,      // the next work was launched late for none of these reasons, by less than kLaunchLimitNs
  kHostWork,    // the same, by more
  kKernelWait,  // it was launched in time, or nobody knows when: a short gap
  kOther,       // the same, a long gap
  kBegin,       // before the first work of the device
  kEnd,         // behind the last one
};
constexpr size_t kIdleReasons = 9;

struct DeviceTraceMetrics {
  std::optional<int64_t> device;
  TraceMetrics metrics;
  std::array<int64_t, kIdleReasons> idle_ns{};
  std::array<int64_t, kIdleReasons> idle_gaps{};
  std::array<int64_t, kKernelTypes> of_type_ns{};
  int64_t exposed_ns = 0;
  int64_t work = 0;  // kernels, copies and fills
};

struct KernelTotal {
  std::string name;
  KernelType type = KernelType::kCompute;
  int64_t count = 0;
  int64_t sum_ns = 0;
};

struct PartTraceMetrics {
  std::vector<DeviceTraceMetrics> devices;
  std::vector<KernelTotal> kernels;
  bool has_launches = false;
};

// Takes the scope's time and device. A part where no device worked has no devices.
//
// On the reader's thread. Memory, which the traces' take_memory is asked for: that of device_launches.h, and about 200
// bytes for each slice of the devices. Fails as reading does.
Result<PartTraceMetrics> ReadPartMetrics(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                         const StopSignal& stop);

}  // namespace kprof
