// Waits of the engines of a NeuronCore, and who was waited for. A wait is an EVENT_SEMAPHORE row, or the time for
// events before an instruction, without the engine's own work and each moment once. A profile does not say who sets a
// semaphore: the one that is taken for it is the instruction of another engine, or the DMA packet, that ended last
// before the wait did.
//
// One thread, that of the readers. Costs a pass over instructions and DMA rows, and 16 bytes for each of them, which
// the traces' take_memory is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/source_lines.h"

namespace kprof {

struct WaitedFor {
  std::string who;  // an engine, or a DMA queue; empty: a queue without a name, or nothing ended while it waited
  bool is_dma = false;
  SourceLine line;  // of the instruction; line 0: not known
  int64_t wait_ns = 0;
  int64_t waits = 0;
};

struct EngineWait {
  std::string engine;
  int64_t wait_ns = 0;
  std::vector<WaitedFor> waited_for;  // the most time first
};

struct EngineWaits {
  std::vector<EngineWait> engines;
  // The window has more than kMostWaitRows: nothing is told.
  bool are_left_out = false;
};
inline constexpr size_t kMostWaitRows = 1'500'000;  // waits and ends of work

// Engines of one core, in the window; in the order of `work`, which is of that core's window or a wider one. An engine
// that did not wait is left out.
Result<EngineWaits> ReadEngineWaits(const AnalysisTraces& traces, const DeviceProfile& profile,
                                    const ProfileWindow& window, int64_t core, ProfileWork& work,
                                    const StopSignal& stop);

}  // namespace kprof
