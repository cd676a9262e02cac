// Allocations and frees of a part in the order of time: PyTorch's `[memory]` instants, and the memory events of an
// Nsight Systems export (CUDA_GPU_MEMORY_USAGE_EVENTS).
//
// On the reader's thread. Memory, which `charge` is grown by: 64 bytes for each event. Costs a pass over the columns
// that select them, and over their arguments. Fails as reading does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

struct MemoryEvent {
  int64_t time_ns = 0;
  int64_t bytes = 0;             // negative: freed
  int64_t address = kNoValue;    // or not known: the 2021 schema does not say
  int64_t allocated = kNoValue;  // on the device, behind this event, as the allocator counts; or not known
  int64_t reserved = kNoValue;   // the same of what the allocator took from the device
  int64_t device = kNoValue;     // kNoValue: the host, or not known
  uint32_t track = 0;
  uint32_t kind = 0;  // an index of MemoryEvents::kinds
};

struct MemoryEvents {
  std::vector<MemoryEvent> events;
  std::vector<std::string> kinds;  // of memory: "gpu", "cpu", "pinned"
};

Result<MemoryEvents> ReadMemoryEvents(const TracePart& part, const StopSignal& stop, MemoryCharge& charge);

}  // namespace kprof
