// The side tables of what AWS Neuron's tools tell (docs/trace_format.md#neuron). Times are ns on the part's clock, as
// those of slices are, except where a column is of the device's own clock.
//
// Pure; any thread.
#pragma once

#include <cstdint>

#include "storage/trace/format/side_table.h"

namespace kprof {

// A row for each event of a Neuron runtime's trace: a begin with its end, or one of the two alone.
enum class NeuronEventColumn : uint8_t {
  kEvent,        // its type: nc_exec_running
  kProcess,      // as the trace has it; nothing: it is of one process
  kWorker,       // worker_gid
  kThread,       // of the host
  kNc,           // the logical NeuronCore, local to its process
  kCore,         // the physical core: device_core_idx
  kExecId,       // of the execution
  kTrackingId,   // 64 bits, exact
  kSeqId,        // nrta_seq_id: of an explicitly asynchronous request
  kModel,        // its name, else its number
  kStart,        // on the host's clock; of an event of the device by sync points where it needs them
  kEnd,          // nothing: it was never seen to end
  kDeviceStart,  // on the clock of its own core; never to be compared with another core's
  kDeviceEnd,
  kSize,      // bytes
  kInstance,  // the host, as the trace has it; nothing: it is of one host
};
const SideTable& NeuronEventSideTable();

// A row for each kernel call of a program, as a profiler within it recorded them.
enum class NeuronCallColumn : uint8_t {
  kFile,
  kLine,
  kKernel,
  kCallIndex,  // in the order of calls, from 0
  kThread,
  kStart,  // nothing: not recorded, as the two below
  kEnd,
  kNc,
  kSeqId,   // nrta_seq_id of the request that it made
  kExecId,  // of the execution that it made
};
const SideTable& NeuronCallSideTable();

}  // namespace kprof
