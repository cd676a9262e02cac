#include "storage/trace/format/report_tables.h"

namespace kprof {

const SideTable& LaunchSideTable() {
  static const SideTable kTable{
      .name = "kernel_launch",
      .columns = {{"launch", SideType::kInteger, ""},    {"kernel", SideType::kText, ""},
                  {"function", SideType::kText, ""},     {"mangled", SideType::kText, ""},
                  {"kind", SideType::kText, ""},         {"process_id", SideType::kInteger, ""},
                  {"process", SideType::kText, ""},      {"device", SideType::kInteger, ""},
                  {"device_name", SideType::kText, ""},  {"compute_capability", SideType::kText, ""},
                  {"context", SideType::kInteger, ""},   {"stream", SideType::kInteger, ""},
                  {"grid_x", SideType::kInteger, ""},    {"grid_y", SideType::kInteger, ""},
                  {"grid_z", SideType::kInteger, ""},    {"block_x", SideType::kInteger, ""},
                  {"block_y", SideType::kInteger, ""},   {"block_z", SideType::kInteger, ""},
                  {"unix_ns", SideType::kInteger, "ns"}, {"range", SideType::kText, ""}}};
  return kTable;
}

const SideTable& TextMetricSideTable() {
  static const SideTable kTable{.name = "kernel_text",
                                .columns = {{"kernel", SideType::kText, ""},
                                            {"launch", SideType::kInteger, ""},
                                            {"name", SideType::kText, ""},
                                            {"text", SideType::kText, ""}}};
  return kTable;
}

const SideTable& InstanceSideTable() {
  static const SideTable kTable{.name = "kernel_instance",
                                .columns = {{"launch", SideType::kInteger, ""},
                                            {"name", SideType::kText, ""},
                                            {"key", SideType::kText, ""},
                                            {"number", SideType::kInteger, ""},
                                            {"value", SideType::kReal, ""},
                                            {"text", SideType::kText, ""}}};
  return kTable;
}

const SideTable& RuleSideTable() {
  static const SideTable kTable{.name = "kernel_rule",
                                .columns = {{"launch", SideType::kInteger, ""},
                                            {"kernel", SideType::kText, ""},
                                            {"rule", SideType::kText, ""},
                                            {"title", SideType::kText, ""},
                                            {"section", SideType::kText, ""},
                                            {"type", SideType::kText, ""},
                                            {"message", SideType::kText, ""},
                                            {"speedup_type", SideType::kText, ""},
                                            {"speedup_percent", SideType::kReal, "percent"},
                                            {"metric", SideType::kText, ""},
                                            {"metric_value", SideType::kReal, ""},
                                            {"reason", SideType::kText, ""}}};
  return kTable;
}

const SideTable& SectionSideTable() {
  static const SideTable kTable{.name = "kernel_section",
                                .columns = {{"launch", SideType::kInteger, ""},
                                            {"section", SideType::kText, ""},
                                            {"title", SideType::kText, ""},
                                            {"place", SideType::kInteger, ""},
                                            {"metric", SideType::kText, ""},
                                            {"label", SideType::kText, ""}}};
  return kTable;
}

const SideTable& InstructionSideTable() {
  static const SideTable kTable{.name = "kernel_instruction",
                                .columns = {{"launch", SideType::kInteger, ""},
                                            {"address", SideType::kInteger, ""},
                                            {"byte_offset", SideType::kInteger, "byte"},
                                            {"sass", SideType::kText, ""},
                                            {"ptx", SideType::kText, ""},
                                            {"file", SideType::kText, ""},
                                            {"line", SideType::kInteger, ""}}};
  return kTable;
}

const SideTable& SourceTextSideTable() {
  static const SideTable kTable{.name = "kernel_source",
                                .columns = {{"file", SideType::kText, ""},
                                            {"language", SideType::kText, ""},
                                            {"line", SideType::kInteger, ""},
                                            {"text", SideType::kText, ""}}};
  return kTable;
}

const SideTable& DeviceAttributeSideTable() {
  static const SideTable kTable{.name = "device_attribute",
                                .columns = {{"device", SideType::kInteger, ""},
                                            {"name", SideType::kText, ""},
                                            {"value", SideType::kReal, ""},
                                            {"text", SideType::kText, ""}}};
  return kTable;
}

}  // namespace kprof
