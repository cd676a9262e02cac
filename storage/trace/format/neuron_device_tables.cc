#include "storage/trace/format/neuron_device_tables.h"

namespace kprof {

std::string NeuronColumnsFact(std::string_view table) {
  return std::string(table) + "_columns";
}

const SideTable& NeuronInstructionSideTable() {
  static const SideTable kTable{.name = "neuron_instruction",
                                .columns = {{"id", SideType::kInteger, ""},
                                            {"engine", SideType::kText, ""},
                                            {"core", SideType::kInteger, ""},
                                            {"opcode", SideType::kText, ""},
                                            {"start_ns", SideType::kInteger, "ns"},
                                            {"duration_ns", SideType::kInteger, "ns"},
                                            {"wait_ns", SideType::kInteger, "ns"},
                                            {"dma_wait_ns", SideType::kInteger, "ns"},
                                            {"operands", SideType::kText, ""},
                                            {"layer", SideType::kText, ""},
                                            {"hlo", SideType::kText, ""},
                                            {"file", SideType::kText, ""},
                                            {"line", SideType::kInteger, ""},
                                            {"frames", SideType::kText, ""},
                                            {"kernel_instruction", SideType::kText, ""},
                                            {"kind", SideType::kText, ""},
                                            {"elements", SideType::kInteger, ""},
                                            {"flops", SideType::kInteger, ""},
                                            {"transpose_flops", SideType::kInteger, ""},
                                            {"adjusted_flops", SideType::kInteger, ""},
                                            {"adjusted_transpose_flops", SideType::kInteger, ""},
                                            {"hbm_read_bytes", SideType::kInteger, "bytes"},
                                            {"hbm_write_bytes", SideType::kInteger, "bytes"},
                                            {"sbuf_read_bytes", SideType::kInteger, "bytes"},
                                            {"sbuf_write_bytes", SideType::kInteger, "bytes"},
                                            {"psum_read_bytes", SideType::kInteger, "bytes"},
                                            {"psum_write_bytes", SideType::kInteger, "bytes"},
                                            {"psum_read_sbuf_write_bytes", SideType::kInteger, "bytes"},
                                            {"spill_save_bytes", SideType::kInteger, "bytes"},
                                            {"spill_reload_bytes", SideType::kInteger, "bytes"},
                                            {"weight_queue_bytes", SideType::kInteger, "bytes"},
                                            {"input_queue_bytes", SideType::kInteger, "bytes"},
                                            {"output_queue_bytes", SideType::kInteger, "bytes"},
                                            {"trigger_ns", SideType::kInteger, "ns"},
                                            {"program_counter", SideType::kInteger, ""},
                                            {"compiler_opcode", SideType::kText, ""},
                                            {"bir", SideType::kText, ""},
                                            {"subgraph", SideType::kText, ""}}};
  return kTable;
}

const SideTable& NeuronDmaSideTable() {
  static const SideTable kTable{.name = "neuron_dma",
                                .columns = {{"id", SideType::kInteger, ""},
                                            {"queue", SideType::kText, ""},
                                            {"queue_type", SideType::kText, ""},
                                            {"queue_index", SideType::kInteger, ""},
                                            {"engine", SideType::kInteger, ""},
                                            {"core", SideType::kInteger, ""},
                                            {"start_ns", SideType::kInteger, "ns"},
                                            {"duration_ns", SideType::kInteger, "ns"},
                                            {"bytes", SideType::kInteger, "bytes"},
                                            {"read_bytes", SideType::kInteger, "bytes"},
                                            {"write_bytes", SideType::kInteger, "bytes"},
                                            {"variable", SideType::kText, ""},
                                            {"op", SideType::kText, ""},
                                            {"source", SideType::kText, ""},
                                            {"dest", SideType::kText, ""},
                                            {"aggregated", SideType::kInteger, ""},
                                            {"duplicate", SideType::kInteger, ""},
                                            {"collective", SideType::kInteger, ""},
                                            {"transfer", SideType::kInteger, ""},
                                            {"trigger_ns", SideType::kInteger, "ns"},
                                            {"block", SideType::kInteger, ""},
                                            {"read_partitions", SideType::kInteger, ""},
                                            {"write_partitions", SideType::kInteger, ""},
                                            {"read_shape", SideType::kText, ""},
                                            {"write_shape", SideType::kText, ""},
                                            {"transpose", SideType::kInteger, ""}}};
  return kTable;
}

const SideTable& NeuronActiveSideTable() {
  static const SideTable kTable{.name = "neuron_active",
                                .columns = {{"engine", SideType::kText, ""},
                                            {"core", SideType::kInteger, ""},
                                            {"start_ns", SideType::kInteger, "ns"},
                                            {"end_ns", SideType::kInteger, "ns"},
                                            {"duration_ns", SideType::kInteger, "ns"}}};
  return kTable;
}

const SideTable& NeuronLayerSideTable() {
  static const SideTable kTable{.name = "neuron_layer",
                                .columns = {{"layer", SideType::kText, ""},
                                            {"subgraph", SideType::kText, ""},
                                            {"start_ns", SideType::kInteger, "ns"},
                                            {"end_ns", SideType::kInteger, "ns"},
                                            {"duration_ns", SideType::kInteger, "ns"}}};
  return kTable;
}

const SideTable& NeuronTensorSideTable() {
  static const SideTable kTable{.name = "neuron_tensor",
                                .columns = {{"variable", SideType::kText, ""},
                                            {"kind", SideType::kText, ""},
                                            {"format", SideType::kText, ""},
                                            {"shape", SideType::kText, ""},
                                            {"size_bytes", SideType::kInteger, "bytes"},
                                            {"node", SideType::kInteger, ""},
                                            {"core", SideType::kInteger, ""},
                                            {"load_bytes", SideType::kInteger, "bytes"},
                                            {"load_mean_bytes", SideType::kInteger, "bytes"},
                                            {"loads", SideType::kInteger, ""},
                                            {"load_factor", SideType::kReal, ""}}};
  return kTable;
}

const SideTable& NeuronFrameSideTable() {
  static const SideTable kTable{.name = "neuron_frame",
                                .columns = {{"source_table", SideType::kText, ""},
                                            {"id", SideType::kText, ""},
                                            {"parent", SideType::kText, ""},
                                            {"place", SideType::kText, ""},
                                            {"file_id", SideType::kText, ""},
                                            {"file", SideType::kText, ""},
                                            {"function", SideType::kText, ""},
                                            {"line", SideType::kInteger, ""},
                                            {"depth", SideType::kInteger, ""}}};
  return kTable;
}

const SideTable& NeuronWarningSideTable() {
  static const SideTable kTable{.name = "neuron_warning",
                                .columns = {{"source_table", SideType::kText, ""},
                                            {"category", SideType::kText, ""},
                                            {"message", SideType::kText, ""},
                                            {"time_ns", SideType::kInteger, "ns"}}};
  return kTable;
}

const SideTable& NeuronFactSideTable() {
  static const SideTable kTable{.name = "neuron_fact",
                                .columns = {{"source_table", SideType::kText, ""},
                                            {"source_row", SideType::kInteger, ""},
                                            {"name", SideType::kText, ""},
                                            {"number", SideType::kReal, ""},
                                            {"text", SideType::kText, ""}}};
  return kTable;
}

}  // namespace kprof
