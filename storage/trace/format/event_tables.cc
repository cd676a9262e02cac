#include "storage/trace/format/event_tables.h"

namespace kprof {
namespace {

SideColumn WholeColumn(const char* name, const char* unit = "") {
  return {.name = name, .type = SideType::kInteger, .unit = unit};
}
SideColumn RealColumn(const char* name, const char* unit = "") {
  return {.name = name, .type = SideType::kReal, .unit = unit};
}
SideColumn WordColumn(const char* name) {
  return {.name = name, .type = SideType::kText, .unit = ""};
}

}  // namespace

const SideTable& EventTurnTable() {
  static const SideTable kTable{
      .name = "event_turn",
      .columns = {WholeColumn("turn"), WordColumn("side"), WholeColumn("block"), WholeColumn("asked_samples"),
                  WholeColumn("began_unix_ns", "ns"), WholeColumn("wall_ns", "ns"), WholeColumn("user_cpu_ns", "ns"),
                  WholeColumn("system_cpu_ns", "ns"), WholeColumn("max_rss_bytes", "bytes"),
                  WholeColumn("leftover_processes"), WordColumn("refuted")}};
  return kTable;
}

const SideTable& EventSampleTable() {
  static const SideTable kTable{
      .name = "event_sample",
      .columns = {WholeColumn("turn"), WordColumn("side"), WholeColumn("block"), WordColumn("case_name"),
                  WholeColumn("sample"), RealColumn("ns", "ns"), RealColumn("wall_ns", "ns"), RealColumn("cycles"),
                  RealColumn("flops"), RealColumn("bytes", "bytes"), WordColumn("cache")}};
  return kTable;
}

}  // namespace kprof
