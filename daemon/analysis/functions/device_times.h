// How long the devices of each part did what: busy at all, each type of work, and which types at once. The unions and
// their sums that breakdowns are made of, exact or as HolisticTraceAnalysis has them (option window).
//
// On the readers' thread. Costs a pass over what device work needs, three times (once for each type), or what
// hta_rows.h says. Fails as reading parts does, with kUsage as DeviceScope does, and as the traces' take_memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_types.h"

namespace kprof {

struct DeviceTimes {
  size_t part = 0;
  std::optional<int64_t> device;  // under window=hta nothing where the part has work on several: there they are one
  int64_t slices = 0;
  int64_t whole_ns = 0;       // trace: of the time asked for, or of the part; hta: from the first begin to the last end
  int64_t busy_ns = 0;        // the union of all
  bool is_corrected = false;  // HTA's rounding left less busy time than compute: slices of less than nothing are 0 here
  std::array<int64_t, kKernelTypes> of_type_ns{};  // of each type, by KernelType
  // In which just these types were at work: bit i stands for type i.
  std::array<int64_t, size_t{1} << kKernelTypes> at_once_ns{};

  int64_t of(KernelType type) const { return of_type_ns[static_cast<size_t>(type)]; }
};

// In the order of parts and devices; none of a part where no device worked: a note says which.
Result<std::vector<DeviceTimes>> FindDeviceTimes(const AnalysisTraces& traces, const AnalysisOptions& options,
                                                 const StopSignal& stop, AnalysisAnswer& notes);

}  // namespace kprof
