// Waits of a stream for an event of another one, where a trace tells which (Kineto's cuda_sync slices "Stream Wait
// Event").
//
// On the reader's thread. Costs a pass over the columns that select them, and over their arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"

namespace kprof {

struct StreamWait {
  int64_t correlation = 0;         // of the call that makes the stream wait
  int64_t record_correlation = 0;  // of the call that recorded the event; kNoValue: not known
  uint32_t track = 0;              // the stream that waits
  uint32_t on_track = 0;           // the stream of the event
};

Result<std::vector<StreamWait>> ReadStreamWaits(const TracePart& part, const StopSignal& stop);

}  // namespace kprof
