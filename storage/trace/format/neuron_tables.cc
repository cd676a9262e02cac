#include "storage/trace/format/neuron_tables.h"

namespace kprof {

const SideTable& NeuronEventSideTable() {
  static const SideTable kTable{.name = "neuron_event",
                                .columns = {{"event", SideType::kText, ""},
                                            {"process", SideType::kText, ""},
                                            {"worker", SideType::kInteger, ""},
                                            {"thread", SideType::kInteger, ""},
                                            {"nc", SideType::kInteger, ""},
                                            {"core", SideType::kInteger, ""},
                                            {"exec_id", SideType::kInteger, ""},
                                            {"tracking_id", SideType::kInteger, ""},
                                            {"seq_id", SideType::kInteger, ""},
                                            {"model", SideType::kText, ""},
                                            {"start_ns", SideType::kInteger, "ns"},
                                            {"end_ns", SideType::kInteger, "ns"},
                                            {"device_start_ns", SideType::kInteger, "ns"},
                                            {"device_end_ns", SideType::kInteger, "ns"},
                                            {"size_bytes", SideType::kInteger, "byte"},
                                            {"instance", SideType::kText, ""}}};
  return kTable;
}

const SideTable& NeuronCallSideTable() {
  static const SideTable kTable{.name = "neuron_call",
                                .columns = {{"file", SideType::kText, ""},
                                            {"line", SideType::kInteger, ""},
                                            {"kernel", SideType::kText, ""},
                                            {"call_index", SideType::kInteger, ""},
                                            {"thread", SideType::kInteger, ""},
                                            {"start_ns", SideType::kInteger, "ns"},
                                            {"end_ns", SideType::kInteger, "ns"},
                                            {"nc", SideType::kInteger, ""},
                                            {"seq_id", SideType::kInteger, ""},
                                            {"exec_id", SideType::kInteger, ""}}};
  return kTable;
}

}  // namespace kprof
