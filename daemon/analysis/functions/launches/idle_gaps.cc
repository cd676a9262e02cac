#include "daemon/analysis/functions/launches/idle_gaps.h"

#include <algorithm>

namespace kprof {

const char* IdleCauseName(IdleCause cause) {
  switch (cause) {
    case IdleCause::kHostWait:
      return "host_wait";
    case IdleCause::kKernelWait:
      return "kernel_wait";
    case IdleCause::kOther:
      break;
  }
  return "other";
}

IdleCause CauseOfGap(const DeviceLaunches& read, const DeviceSlice& next, int64_t idle_since_ns, int64_t gap_ns,
                     int64_t kernel_wait_ns) {
  if (next.call != DeviceSlice::kNoCall && read.calls()[static_cast<size_t>(next.call)].begin_ns > idle_since_ns) {
    return IdleCause::kHostWait;
  }
  return gap_ns < kernel_wait_ns ? IdleCause::kKernelWait : IdleCause::kOther;
}

void ForEachIdleGap(const DeviceLaunches& read, std::span<const DeviceSlice* const> slices, const Interval& whole,
                    int64_t kernel_wait_ns, const std::function<void(const IdleGap&)>& see) {
  int64_t idle_since = whole.begin_ns;
  const DeviceSlice* before = nullptr;
  for (const DeviceSlice* slice : slices) {
    const int64_t begin = std::min(slice->begin_ns, whole.end_ns);
    if (begin > idle_since) {
      see({{idle_since, begin},
           CauseOfGap(read, *slice, idle_since, begin - idle_since, kernel_wait_ns),
           before,
           slice});
    }
    if (std::min(slice->end_ns, whole.end_ns) >= idle_since) before = slice;
    idle_since = std::max(idle_since, std::min(slice->end_ns, whole.end_ns));
  }
  if (whole.end_ns > idle_since) see({{idle_since, whole.end_ns}, IdleCause::kHostWait, before, nullptr});
}

std::optional<uint32_t> ThreadOfGap(const DeviceLaunches& read, const IdleGap& gap) {
  for (const DeviceSlice* slice : {gap.after, gap.before}) {
    if (slice != nullptr && slice->call != DeviceSlice::kNoCall) {
      return read.calls()[static_cast<size_t>(slice->call)].track;
    }
  }
  return std::nullopt;
}

}  // namespace kprof
