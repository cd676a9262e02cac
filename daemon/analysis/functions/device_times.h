// How long the devices of each part were busy: at all, with each type of work, and with which types at once. Breakdowns
// are made of these times, exact or as HolisticTraceAnalysis has them (option window).
//
// On the readers' thread. Costs a pass over the columns that select device work, for each of three types; or the costs
// of hta_rows.h. Fails as reading parts does, with kUsage as DeviceScope does, and as the traces' take_memory.
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
  std::optional<int64_t> device;  // nothing: not known, or (window=hta) several, which are one there
  int64_t slices = 0;
  int64_t whole_ns = 0;       // trace: of the time asked for, or of the part; hta: from the first begin to the last end
  int64_t busy_ns = 0;        // the union of all
  bool is_corrected = false;  // HTA's rounding left less busy time than compute: slices of less than nothing are 0 here
  std::array<int64_t, kKernelTypes> of_type_ns{};  // of each type, by KernelType
  // The time in which exactly these types were at work: bit i of the index stands for type i.
  std::array<int64_t, size_t{1} << kKernelTypes> at_once_ns{};

  int64_t of(KernelType type) const { return of_type_ns[static_cast<size_t>(type)]; }
};

// In the order of parts and devices. A part where no device worked has none; a note names it.
Result<std::vector<DeviceTimes>> FindDeviceTimes(const AnalysisTraces& traces, const AnalysisOptions& options,
                                                 const StopSignal& stop, AnalysisAnswer& notes);

}  // namespace kprof
