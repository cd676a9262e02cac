// The stretches in which a device or a stream did nothing, each with its cause: its next work was launched late, or it
// was launched in time and followed closely, or neither.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {

enum class IdleCause : uint8_t { kHostWait, kKernelWait, kOther };
constexpr size_t kIdleCauses = 3;

// "host_wait", "kernel_wait", "other".
const char* IdleCauseName(IdleCause cause);

struct IdleGap {
  Interval time;
  IdleCause cause = IdleCause::kOther;
  const DeviceSlice* before = nullptr;  // null: nothing ran before it
  const DeviceSlice* after = nullptr;   // null: nothing ran after it

  int64_t length_ns() const { return time.end_ns - time.begin_ns; }
};

// The cause of a gap before `next`. Shorter ones than `kernel_wait_ns` are kKernelWait, unless the host was late.
IdleCause CauseOfGap(const DeviceLaunches& read, const DeviceSlice& next, int64_t idle_since_ns, int64_t gap_ns,
                     int64_t kernel_wait_ns);

// Calls `see` for each gap from the begin of the whole to its end, in order. REQUIRES: `slices` are of `read`, in the
// order of time.
void ForEachIdleGap(const DeviceLaunches& read, std::span<const DeviceSlice* const> slices, const Interval& whole,
                    int64_t kernel_wait_ns, const std::function<void(const IdleGap&)>& see);

// The thread that ended the gap; else the one that launched what was before it. Nothing: neither launch is known.
std::optional<uint32_t> ThreadOfGap(const DeviceLaunches& read, const IdleGap& gap);

}  // namespace kprof
