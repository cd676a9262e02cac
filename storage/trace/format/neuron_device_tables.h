// The side tables of a device profile of a Neuron core: what `neuron-profile` or `neuron-explorer` recorded of one
// execution on one device (docs/trace_format.md#from-neuron-device-profiles). Counters of the profile's summary and the
// peaks of its metadata stand in the side table `metric` (metric_table.h).
//
// A profile is one part (JSON), or several of one run and rank, each with some of the tables (Parquet). Times are ns
// from the start of the execution, as those of the part's slices are. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/trace/format/side_table.h"

namespace kprof {

// The fact that marks a part of a device profile.
inline constexpr std::string_view kNeuronProfileFact = "neuron_profile";
inline constexpr std::string_view kNeuronDeviceProfile = "device";
inline constexpr std::string_view kNeuronSystemProfile = "system";  // what a system trace says of itself
// The fact with the version of the profile's schema, where it says one: "7.4.0".
inline constexpr std::string_view kNeuronSchemaFact = "neuron_schema_version";

// The fact with the names of the columns of a table of many rows that have any value in the part, with spaces between:
// most profiles lack some, which need not be read.
std::string NeuronColumnsFact(std::string_view table);

// A row for each instruction that an engine ran, those that only wait included.
enum class NeuronInstructionColumn : uint8_t {
  kId,
  kEngine,  // as the profile calls it: Tensor, Vector, Scalar, GpSimd, Sync
  kCore,    // the physical core within the logical one; nothing where there is only one
  kOpcode,
  kStart,
  kDuration,
  kWait,     // for events, before the start: no part of the duration
  kDmaWait,  // for DMA, the same
  kOperands,
  kLayer,
  kHlo,
  kFile,  // of the source, where the program was compiled with debug information
  kLine,
  kFrames,  // ids of stack frames, where those lead to the source
  kKernelInstruction,
  kKind,      // REGULAR, TRANSPOSE
  kElements,  // multiply-adds of a MATMUL
  kFlops,
  kTransposeFlops,
  kAdjustedFlops,  // scaled to those of BF16
  kAdjustedTransposeFlops,
  kHbmRead,
  kHbmWrite,
  kSbufRead,
  kSbufWrite,
  kPsumRead,
  kPsumWrite,
  kPsumToSbuf,
  kSpillSave,
  kSpillReload,
  kWeightQueue,
  kInputQueue,
  kOutputQueue,
  kTrigger,  // when the DMA that it starts began
  kProgramCounter,
  kCompilerOpcode,
  kBir,
  kSubgraph,
};
const SideTable& NeuronInstructionSideTable();

// A row for each DMA packet, and one for each transfer, which repeats what its packets moved (aggregated).
enum class NeuronDmaColumn : uint8_t {
  kId,
  kQueue,
  kQueueType,   // instruction, input, output, data, software_dynamic, hardware_dynamic, unknown
  kQueueIndex,  // of the hardware's
  kEngine,      // DMA engine
  kCore,
  kStart,
  kDuration,
  kBytes,
  kReadBytes,
  kWriteBytes,
  kVariable,
  kOp,
  kSource,
  kDest,
  kAggregated,  // 0, 1
  kDuplicate,   // 0, 1: it stands for a transfer that another row has
  kCollective,  // 0, 1
  kTransfer,    // a packet's: the id of its transfer
  kTrigger,     // when the instruction that started it began
  kBlock,
  kReadPartitions,  // of SBUF
  kWritePartitions,
  kReadShape,
  kWriteShape,
  kTranspose,  // 0, 1: it transposes
};
const SideTable& NeuronDmaSideTable();

// The merged busy intervals of each engine, as the profiler worked them out.
enum class NeuronActiveColumn : uint8_t { kEngine, kCore, kStart, kEnd, kDuration };
const SideTable& NeuronActiveSideTable();

enum class NeuronLayerColumn : uint8_t { kLayer, kSubgraph, kStart, kEnd, kDuration };
const SideTable& NeuronLayerSideTable();

enum class NeuronTensorColumn : uint8_t {
  kVariable,
  kKind,  // input, output, weight...
  kFormat,
  kShape,
  kSize,
  kNode,
  kCore,
  kLoadBytes,  // that went to SBUF
  kLoadMeanBytes,
  kLoads,
  kLoadFactor,  // kLoadBytes / kSize, by the profiler
};
const SideTable& NeuronTensorSideTable();

// A frame of a stack, a place in a file, or a name: the tables by which ids of frames lead to lines of source.
enum class NeuronFrameColumn : uint8_t {
  kTable,  // of the profile: StackFrame, KernelInstructions...
  kId,     // of the frame, the place or the name; a kernel instruction's: its name
  kParent,
  kPlace,     // of a frame: the id of its place
  kFileId,    // of a place
  kFile,      // its path, or the file's name itself
  kFunction,  // of a place: an id; else its name
  kLine,
  kDepth,
};
const SideTable& NeuronFrameSideTable();

// The profiler's words about its own work: lost data first of all.
enum class NeuronWarningColumn : uint8_t { kTable, kCategory, kMessage, kTime };
const SideTable& NeuronWarningSideTable();

// All other values of the profile, one for each row and name: number or text.
enum class NeuronFactColumn : uint8_t { kTable, kRow, kName, kNumber, kText };
const SideTable& NeuronFactSideTable();

}  // namespace kprof
