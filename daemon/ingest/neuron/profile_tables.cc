#include "daemon/ingest/neuron/profile_tables.h"

#include <algorithm>
#include <cctype>

namespace kprof {
namespace {

template <typename Column>
constexpr ProfileField At(FieldKind kind, Column column, std::string_view one, std::string_view two = {},
                          std::string_view three = {}) {
  return {kind, static_cast<uint8_t>(column), {one, two, three}};
}

using InstructionAt = NeuronInstructionColumn;
constexpr ProfileField kInstructionFields[] = {
    At(FieldKind::kInteger, InstructionAt::kId, "id"),
    At(FieldKind::kText, InstructionAt::kEngine, "subgroup", "engine"),
    At(FieldKind::kInteger, InstructionAt::kCore, "pcore_idx"),
    At(FieldKind::kText, InstructionAt::kOpcode, "opcode"),
    At(FieldKind::kTime, InstructionAt::kStart, "timestamp", "start_ts"),
    At(FieldKind::kTime, InstructionAt::kDuration, "duration", "duration_ns"),
    At(FieldKind::kTime, InstructionAt::kWait, "evt_wait_time", "evt_wait_time_ns"),
    At(FieldKind::kTime, InstructionAt::kDmaWait, "dma_wait_time", "dma_wait_time_ns"),
    At(FieldKind::kText, InstructionAt::kOperands, "operands"),
    At(FieldKind::kText, InstructionAt::kLayer, "layer"),
    At(FieldKind::kText, InstructionAt::kHlo, "hlo_name"),
    At(FieldKind::kText, InstructionAt::kFrames, "stack_frame_ids"),
    At(FieldKind::kText, InstructionAt::kKernelInstruction, "kernel_instruction_name"),
    At(FieldKind::kText, InstructionAt::kKind, "instruction_type", "tensor_instruction_type"),
    At(FieldKind::kInteger, InstructionAt::kElements, "elements", "tensor_elements"),
    At(FieldKind::kInteger, InstructionAt::kFlops, "raw_flops"),
    At(FieldKind::kInteger, InstructionAt::kTransposeFlops, "flops_transpose"),
    At(FieldKind::kInteger, InstructionAt::kAdjustedFlops, "adjusted_flops"),
    At(FieldKind::kInteger, InstructionAt::kAdjustedTransposeFlops, "adjusted_flops_transpose"),
    At(FieldKind::kInteger, InstructionAt::kHbmRead, "hbm_read_bytes"),
    At(FieldKind::kInteger, InstructionAt::kHbmWrite, "hbm_write_bytes"),
    At(FieldKind::kInteger, InstructionAt::kSbufRead, "sbuf_read_bytes"),
    At(FieldKind::kInteger, InstructionAt::kSbufWrite, "sbuf_write_bytes"),
    At(FieldKind::kInteger, InstructionAt::kPsumRead, "psum_read_bytes"),
    At(FieldKind::kInteger, InstructionAt::kPsumWrite, "psum_write_bytes"),
    At(FieldKind::kInteger, InstructionAt::kPsumToSbuf, "psum_read_sbuf_write_bytes"),
    At(FieldKind::kInteger, InstructionAt::kSpillSave, "spill_save_bytes"),
    At(FieldKind::kInteger, InstructionAt::kSpillReload, "spill_reload_bytes"),
    At(FieldKind::kInteger, InstructionAt::kWeightQueue, "weight_queue_bytes"),
    At(FieldKind::kInteger, InstructionAt::kInputQueue, "input_queue_bytes"),
    At(FieldKind::kInteger, InstructionAt::kOutputQueue, "output_queue_bytes"),
    At(FieldKind::kTime, InstructionAt::kTrigger, "trigger", "dma_trigger_start_ts"),
    At(FieldKind::kInteger, InstructionAt::kProgramCounter, "pc"),
    At(FieldKind::kText, InstructionAt::kCompilerOpcode, "compiler_opcode"),
    At(FieldKind::kText, InstructionAt::kBir, "bir_instruction_name"),
    At(FieldKind::kText, InstructionAt::kSubgraph, "fully_qualified_subgraph", "subgraph"),
    At(FieldKind::kTime, kInstructionEnd, "end_ts"),
    At(FieldKind::kText, kNkiPlace, "nki_source_location"),
    At(FieldKind::kText, kBirPlace, "bir_debug_info_source_location"),
};

using DmaAt = NeuronDmaColumn;
constexpr ProfileField kDmaFields[] = {
    At(FieldKind::kInteger, DmaAt::kId, "id"),
    At(FieldKind::kText, DmaAt::kQueue, "subgroup", "queue_name"),
    At(FieldKind::kText, DmaAt::kQueueType, "queue_type"),
    At(FieldKind::kInteger, DmaAt::kQueueIndex, "dma_queue", "queue_idx"),
    At(FieldKind::kInteger, DmaAt::kEngine, "dma_engine", "engine_idx"),
    At(FieldKind::kInteger, DmaAt::kCore, "pcore_idx"),
    At(FieldKind::kTime, DmaAt::kStart, "timestamp", "start_ts"),
    At(FieldKind::kTime, DmaAt::kDuration, "duration", "duration_ns"),
    At(FieldKind::kInteger, DmaAt::kBytes, "transfer_size", "transfer_bytes"),
    At(FieldKind::kInteger, DmaAt::kReadBytes, "read_size", "read_bytes"),
    At(FieldKind::kInteger, DmaAt::kWriteBytes, "write_size", "write_bytes"),
    At(FieldKind::kText, DmaAt::kVariable, "variable"),
    At(FieldKind::kText, DmaAt::kOp, "op"),
    At(FieldKind::kText, DmaAt::kSource, "source"),
    At(FieldKind::kText, DmaAt::kDest, "dest"),
    At(FieldKind::kFlag, DmaAt::kAggregated, "aggregated"),
    At(FieldKind::kFlag, DmaAt::kDuplicate, "duplicate"),
    At(FieldKind::kFlag, DmaAt::kCollective, "is_cc_dma"),
    At(FieldKind::kInteger, DmaAt::kTransfer, "packet_aggregation_id"),
    At(FieldKind::kTime, DmaAt::kTrigger, "trigger"),
    At(FieldKind::kInteger, DmaAt::kBlock, "block_id"),
    At(FieldKind::kInteger, DmaAt::kReadPartitions, "source_num_sb_partitions", "read_num_sbuf_partitions"),
    At(FieldKind::kInteger, DmaAt::kWritePartitions, "dest_num_sb_partitions", "write_num_sbuf_partitions"),
    At(FieldKind::kText, DmaAt::kReadShape, "read_shape"),
    At(FieldKind::kText, DmaAt::kWriteShape, "write_shape"),
    At(FieldKind::kFlag, DmaAt::kTranspose, "is_transpose_mode"),
    At(FieldKind::kTime, kDmaEnd, "end_ts"),
};

using ActiveAt = NeuronActiveColumn;
constexpr ProfileField kActiveFields[] = {
    At(FieldKind::kText, ActiveAt::kEngine, "engine", "subgroup"),
    At(FieldKind::kInteger, ActiveAt::kCore, "pcore_idx"),
    At(FieldKind::kTime, ActiveAt::kStart, "start_ts", "timestamp"),
    At(FieldKind::kTime, ActiveAt::kEnd, "end_ts"),
    At(FieldKind::kTime, ActiveAt::kDuration, "duration_ns", "duration"),
};

using LayerAt = NeuronLayerColumn;
constexpr ProfileField kLayerFields[] = {
    At(FieldKind::kText, LayerAt::kLayer, "name", "layer"),
    At(FieldKind::kText, LayerAt::kSubgraph, "fully_qualified_subgraph"),
    At(FieldKind::kTime, LayerAt::kStart, "start", "start_ts"),
    At(FieldKind::kTime, LayerAt::kEnd, "end", "end_ts"),
    At(FieldKind::kTime, LayerAt::kDuration, "duration", "duration_ns"),
};

using TensorAt = NeuronTensorColumn;
constexpr ProfileField kTensorFields[] = {
    At(FieldKind::kText, TensorAt::kVariable, "variable_name"),
    At(FieldKind::kText, TensorAt::kKind, "type"),
    At(FieldKind::kText, TensorAt::kFormat, "format"),
    At(FieldKind::kText, TensorAt::kShape, "shape"),
    At(FieldKind::kInteger, TensorAt::kSize, "size"),
    At(FieldKind::kInteger, TensorAt::kNode, "node"),
    At(FieldKind::kInteger, TensorAt::kCore, "pcore_idx"),
    At(FieldKind::kInteger, TensorAt::kLoadBytes, "load_to_sbuf_total_size_bytes"),
    At(FieldKind::kInteger, TensorAt::kLoadMeanBytes, "load_to_sbuf_avg_size_bytes"),
    At(FieldKind::kInteger, TensorAt::kLoads, "load_to_sbuf_dma_count"),
    At(FieldKind::kReal, TensorAt::kLoadFactor, "load_to_sbuf_repeat_factor"),
};

using FrameAt = NeuronFrameColumn;
constexpr ProfileField kStackFrameFields[] = {At(FieldKind::kText, FrameAt::kId, "id"),
                                              At(FieldKind::kText, FrameAt::kPlace, "file_location_id"),
                                              At(FieldKind::kText, FrameAt::kParent, "parent_frame_id")};
constexpr ProfileField kFrameLocationFields[] = {At(FieldKind::kText, FrameAt::kId, "id"),
                                                 At(FieldKind::kText, FrameAt::kFileId, "file_name_id"),
                                                 At(FieldKind::kText, FrameAt::kFunction, "function_name_id"),
                                                 At(FieldKind::kInteger, FrameAt::kLine, "line_number")};
constexpr ProfileField kFrameFileFields[] = {At(FieldKind::kText, FrameAt::kId, "id"),
                                             At(FieldKind::kText, FrameAt::kFile, "name")};
constexpr ProfileField kFrameFunctionFields[] = {At(FieldKind::kText, FrameAt::kId, "id"),
                                                 At(FieldKind::kText, FrameAt::kFunction, "name")};
constexpr ProfileField kKernelFrameFields[] = {
    At(FieldKind::kText, FrameAt::kId, "stack_frame_id"),
    At(FieldKind::kText, FrameAt::kFunction, "fully_qualified_function_name"),
    At(FieldKind::kText, FrameAt::kParent, "parent_stack_frame_id"), At(FieldKind::kText, FrameAt::kFile, "file_path"),
    At(FieldKind::kInteger, FrameAt::kLine, "line_number")};
constexpr ProfileField kKernelInstructionFields[] = {At(FieldKind::kText, FrameAt::kId, "kernel_instruction_name"),
                                                     At(FieldKind::kText, FrameAt::kPlace, "stack_frame_id"),
                                                     At(FieldKind::kInteger, FrameAt::kDepth, "stack_frame_depth"),
                                                     At(FieldKind::kText, FrameAt::kFile, "file_path"),
                                                     At(FieldKind::kInteger, FrameAt::kLine, "line_number")};

using WarningAt = NeuronWarningColumn;
constexpr ProfileField kWarningFields[] = {At(FieldKind::kText, WarningAt::kCategory, "category", "type"),
                                           At(FieldKind::kText, WarningAt::kMessage, "message", "description"),
                                           At(FieldKind::kTime, WarningAt::kTime, "timestamp")};

constexpr ProfileField kPendingFields[] = {At(FieldKind::kTime, kCounterTime, "timestamp"),
                                           At(FieldKind::kReal, kCounterValue, "value")};
constexpr ProfileField kThroughputFields[] = {
    At(FieldKind::kTime, kCounterTime, "timestamp"), At(FieldKind::kReal, kCounterValue, "transfer_rate", "throughput"),
    At(FieldKind::kReal, kCounterSecond, "hbm_transfer_rate", "hbm_throughput")};
constexpr ProfileField kUsageFields[] = {
    At(FieldKind::kTime, kCounterTime, "timestamp"),
    At(FieldKind::kReal, kCounterValue, "usage_avg", "usage_avg_percent", "avg_util_percent"),
    At(FieldKind::kText, kCounterName, "type")};
constexpr ProfileField kSemaphoreFields[] = {At(FieldKind::kTime, kCounterTime, "timestamp"),
                                             At(FieldKind::kReal, kCounterValue, "value"),
                                             At(FieldKind::kText, kCounterName, "id")};
constexpr ProfileField kThrottleFields[] = {
    At(FieldKind::kTime, kSpanStart, "timestamp"), At(FieldKind::kTime, kSpanDuration, "duration"),
    At(FieldKind::kText, kSpanKind, "type"),       At(FieldKind::kInteger, kSpanK, "k"),
    At(FieldKind::kInteger, kSpanN, "n"),          At(FieldKind::kInteger, kSpanCore, "pcore_idx")};
constexpr ProfileField kCollectiveFields[] = {At(FieldKind::kTime, kSpanStart, "start_ts", "timestamp"),
                                              At(FieldKind::kTime, kSpanDuration, "duration_ns", "duration"),
                                              At(FieldKind::kTime, kSpanEnd, "end_ts"),
                                              At(FieldKind::kText, kSpanName, "operation"),
                                              At(FieldKind::kText, kSpanKind, "algorithm"),
                                              At(FieldKind::kInteger, kSpanN, "stream_id"),
                                              At(FieldKind::kInteger, kSpanCore, "pcore_idx"),
                                              At(FieldKind::kInteger, kSpanBytes, "input_size")};

constexpr ProfileTable kProfileTables[] = {
    {TableRole::kInstruction, "instruction", "Instruction", kInstructionFields},
    {TableRole::kDma, "dma", "DmaPacket", kDmaFields},
    {TableRole::kDma, "", "DmaPacketAggregated", kDmaFields, false, true},
    {TableRole::kActive, "active_time", "ActiveTime", kActiveFields},
    {TableRole::kLayer, "layer_summary", "LayerSummary", kLayerFields, true},
    {TableRole::kTensor, "neff_node", "TensorInfo", kTensorFields},
    {TableRole::kFrame, "", "StackFrame", kStackFrameFields},
    {TableRole::kFrame, "", "StackFrameFileLocation", kFrameLocationFields},
    {TableRole::kFrame, "", "StackFrameFileName", kFrameFileFields},
    {TableRole::kFrame, "", "StackFrameFunctionName", kFrameFunctionFields},
    {TableRole::kFrame, "", "KernelStackFrames", kKernelFrameFields},
    {TableRole::kFrame, "", "KernelInstructions", kKernelInstructionFields},
    {TableRole::kWarning, "warnings", "Warning", kWarningFields},
    {TableRole::kWarning, "", "Error", kWarningFields},
    {TableRole::kPendingDma, "pending_dma", "PendingDma", kPendingFields},
    {TableRole::kThroughput, "dma_throughput", "DmaUsage", kThroughputFields},
    {TableRole::kUsage, "instruction_usage", "", kUsageFields},
    {TableRole::kUsage, "", "SbufUsage", kUsageFields},
    {TableRole::kUsage, "", "PsumUsage", kUsageFields},
    {TableRole::kSemaphore, "semaphore_update", "SemaphoreUpdate", kSemaphoreFields},
    {TableRole::kThrottle, "ham", "Throttle", kThrottleFields},
    {TableRole::kCollective, "cc_op", "CcOp", kCollectiveFields},
    {TableRole::kSummary, "summary", "Summary", {}},
    {TableRole::kMetadata, "metadata", "Metadata", {}},
    {TableRole::kFacts, "model_info", "", {}},
    {TableRole::kFacts, "dma_queues_info", "DmaQueuesInfo", {}},
    {TableRole::kFacts, "nc_mem_usage", "HbmUsageSummaryByType", {}},
    {TableRole::kFacts, "neff_header", "NeffHeader", {}},
    {TableRole::kFacts, "profile_info", "", {}},
    {TableRole::kFacts, "summary_groups", "", {}},
    {TableRole::kFacts, "summary_group_order", "", {}},
    {TableRole::kFacts, "terminology", "", {}},
    {TableRole::kFacts, "", "OpcodeSummary", {}},
    {TableRole::kFacts, "", "ThrottleSummary", {}},
    {TableRole::kFacts, "", "ExecutionInfo", {}},
    {TableRole::kFacts, "", "DeviceProfileList", {}, false, false, true},
    {TableRole::kFacts, "", "SystemProfileMetadata", {}, false, false, true},
    {TableRole::kFacts, "", "DmaUsageSummary", {}},
    {TableRole::kFacts, "", "SchemaFields", {}, false, false, true},
};

// Columns by which a table is known where its file has another name. All of them must be there.
struct TellingColumns {
  std::string_view table;
  std::array<std::string_view, 3> columns;
};
constexpr TellingColumns kTellingColumns[] = {
    {"Instruction", {"opcode", "engine", "start_ts"}},
    {"Instruction", {"opcode", "engine", "operands"}},
    {"DmaPacketAggregated", {"queue_type", "start_ts", "dest"}},
    {"DmaPacketAggregated", {"queue_type", "start_ts", "modular_flow_function"}},
    {"DmaPacket", {"queue_type", "start_ts", "packet_idx"}},
    {"DmaPacket", {"queue_type", "start_ts", "packet_aggregation_id"}},
    {"Summary", {"total_time", "total_active_time", "hbm_read_bytes"}},
    {"Metadata", {"profile_schema_version", "last_hw_timestamp", "first_hw_timestamp"}},
    {"Metadata", {"profile_schema_version", "ntff_version", "ntff_version"}},
    {"TensorInfo", {"variable_name", "shape", "size"}},
    {"Throttle", {"timestamp", "k", "n"}},
    {"KernelInstructions", {"kernel_instruction_name", "file_path", "line_number"}},
    {"KernelStackFrames", {"stack_frame_id", "file_path", "line_number"}},
    {"StackFrameFileLocation", {"file_name_id", "function_name_id", "line_number"}},
    {"StackFrame", {"file_location_id", "parent_frame_id", "id"}},
    {"CcOp", {"operation", "algorithm", "bus_bandwidth"}},
};

}  // namespace

const SideTable* ProfileTable::side_table() const {
  switch (role) {
    case TableRole::kInstruction:
      return &NeuronInstructionSideTable();
    case TableRole::kDma:
      return &NeuronDmaSideTable();
    case TableRole::kActive:
      return &NeuronActiveSideTable();
    case TableRole::kLayer:
      return &NeuronLayerSideTable();
    case TableRole::kTensor:
      return &NeuronTensorSideTable();
    case TableRole::kFrame:
      return &NeuronFrameSideTable();
    case TableRole::kWarning:
      return &NeuronWarningSideTable();
    default:
      return nullptr;
  }
}

std::span<const ProfileTable> ProfileTables() {
  return kProfileTables;
}

const ProfileTable* FindProfileTableOfJson(std::string_view key) {
  for (const ProfileTable& table : kProfileTables) {
    if (!table.json.empty() && table.json == key) return &table;
  }
  return nullptr;
}

const ProfileTable* FindProfileTable(std::string_view parquet_name) {
  for (const ProfileTable& table : kProfileTables) {
    if (!table.parquet.empty() && table.parquet == parquet_name) return &table;
  }
  return nullptr;
}

const ProfileTable* FindProfileTableOfFile(std::string_view file_name) {
  std::string_view name = file_name.substr(file_name.rfind('/') + 1);
  name = name.substr(0, name.find('.'));
  if (const ProfileTable* const table = FindProfileTable(name)) return table;
  const size_t digits = name.find_last_not_of("0123456789");
  if (digits == name.npos || digits + 1 == name.size() || name[digits] != '_') return nullptr;
  return FindProfileTable(name.substr(0, digits));
}

const ProfileTable* FindProfileTableByColumns(std::span<const std::string_view> columns) {
  for (const TellingColumns& one : kTellingColumns) {
    const bool has_all = std::all_of(one.columns.begin(), one.columns.end(), [&](std::string_view column) {
      return std::find(columns.begin(), columns.end(), column) != columns.end();
    });
    if (has_all) return FindProfileTable(one.table);
  }
  return nullptr;
}

const ProfileField* FindProfileField(const ProfileTable& table, std::string_view name) {
  for (const ProfileField& field : table.fields) {
    if (std::find(field.names.begin(), field.names.end(), name) != field.names.end() && !name.empty()) return &field;
  }
  return nullptr;
}

}  // namespace kprof
