#include "daemon/ingest/ncu/metric_units.h"

#include <algorithm>
#include <array>
#include <optional>

namespace kprof {
namespace {

struct ScaledWord {
  std::string_view word;
  std::string_view base;
  double factor;
};

// Words for one thing, with what it is in the base unit. Prefixes stand in kPrefixes.
constexpr ScaledWord kUnitWords[] = {
    {"second", "ns", 1e9}, {"sec", "ns", 1e9},     {"s", "ns", 1e9},       {"msecond", "ns", 1e6}, {"msec", "ns", 1e6},
    {"ms", "ns", 1e6},     {"usecond", "ns", 1e3}, {"usec", "ns", 1e3},    {"us", "ns", 1e3},      {"nsecond", "ns", 1},
    {"nsec", "ns", 1},     {"ns", "ns", 1},        {"minute", "ns", 6e10}, {"hour", "ns", 3.6e12}, {"hz", "hz", 1},
    {"Hz", "hz", 1},       {"percent", "%", 1},    {"bytes", "byte", 1},   {"B", "byte", 1},
};
// Only before these is a capital letter a prefix: Mbyte is, MIO is not.
constexpr std::string_view kPrefixedWords[] = {"byte",    "inst", "cycle",  "hz",      "Hz",     "sector",
                                               "request", "warp", "thread", "block",   "sample", "op",
                                               "bit",     "B",    "bytes",  "register"};
constexpr ScaledWord kPrefixes[] = {{"K", "", 1e3}, {"k", "", 1e3},  {"M", "", 1e6},
                                    {"G", "", 1e9}, {"T", "", 1e12}, {"P", "", 1e15}};

BaseUnit BaseWordOf(std::string_view word) {
  for (const ScaledWord& each : kUnitWords) {
    if (word == each.word) return {std::string(each.base), each.factor};
  }
  for (const ScaledWord& prefix : kPrefixes) {
    if (!word.starts_with(prefix.word)) continue;
    const std::string_view rest = word.substr(prefix.word.size());
    if (std::find(std::begin(kPrefixedWords), std::end(kPrefixedWords), rest) == std::end(kPrefixedWords)) continue;
    const BaseUnit base = BaseWordOf(rest);
    return {base.unit, base.factor * prefix.factor};
  }
  return {std::string(word), 1};
}

constexpr double kNsPerSecond = 1e9;

struct NamedUnit {
  std::string_view name;
  std::string_view unit;
};

// Metrics whose names do not tell their unit by the rules below.
constexpr NamedUnit kNamedUnits[] = {
    {"launch__registers_per_thread", "register/thread"},
    {"launch__registers_per_thread_allocated", "register/thread"},
    {"launch__shared_mem_config_size", "byte"},
    {"launch__shared_mem_per_block", "byte/block"},
    {"launch__shared_mem_per_block_allocated", "byte/block"},
    {"launch__shared_mem_per_block_driver", "byte/block"},
    {"launch__shared_mem_per_block_dynamic", "byte/block"},
    {"launch__shared_mem_per_block_static", "byte/block"},
    {"launch__sm_count", "SM"},
    {"launch__thread_count", "thread"},
    {"launch__stack_size", "byte"},
    {"smsp__average_warp_latency_per_inst_issued.ratio", "cycle"},
    {"smsp__average_warps_active_per_inst_executed.ratio", "cycle"},
    {"smsp__average_inst_executed_per_warp.ratio", "inst/warp"},
    {"smsp__average_inst_executed_pipe_alu_per_warp.ratio", "inst/warp"},
};

// The unit of what a metric counts, by the words of its name.
constexpr NamedUnit kCountedWords[] = {
    {"bytes", "byte"},     {"duration", "ns"}, {"cycles", "cycle"},     {"inst", "inst"},      {"warps", "warp"},
    {"sectors", "sector"}, {"sector", ""},     {"requests", "request"}, {"samples", "sample"}, {"pcsamp", "sample"},
};

constexpr std::string_view kOccupancyLimit = "launch__occupancy_limit_";

std::string_view CountedUnitOf(std::string_view counter) {
  while (!counter.empty()) {
    const size_t end = std::min(counter.find('_'), counter.size());
    const std::string_view word = counter.substr(0, end);
    for (const NamedUnit& each : kCountedWords) {
      if (word == each.name) return each.unit;
    }
    counter.remove_prefix(std::min(end + 1, counter.size()));
  }
  return {};
}

bool HasPiece(std::string_view rollup, std::string_view begin) {
  while (!rollup.empty()) {
    const size_t end = std::min(rollup.find('.'), rollup.size());
    if (rollup.substr(0, end).starts_with(begin)) return true;
    rollup.remove_prefix(std::min(end + 1, rollup.size()));
  }
  return false;
}

}  // namespace

BaseUnit BaseUnitOf(std::string_view printed) {
  while (!printed.empty() && printed.front() == ' ') printed.remove_prefix(1);
  while (!printed.empty() && printed.back() == ' ') printed.remove_suffix(1);
  const size_t slash = printed.find('/');
  if (slash == printed.npos) return BaseWordOf(printed);
  BaseUnit above = BaseWordOf(printed.substr(0, slash));
  const BaseUnit below = BaseWordOf(printed.substr(slash + 1));
  if (below.unit == "ns") {
    above.factor *= kNsPerSecond / below.factor;
    above.unit = above.unit == "cycle" ? "hz" : above.unit + "/s";
    return above;
  }
  return {above.unit + "/" + below.unit, above.factor / below.factor};
}

std::string UnitOfMetric(std::string_view name) {
  // What stands before the metric: "pmsampling:", "LTS.TriageSCG.".
  const bool is_list = name.starts_with("breakdown:") || name.starts_with("group:");
  if (is_list) return {};
  const size_t colon = name.find_last_of(':');
  if (colon != name.npos) name.remove_prefix(colon + 1);
  const size_t scope = name.find("__");
  if (scope != name.npos) {
    const size_t before = name.substr(0, scope).find_last_of('.');
    if (before != name.npos) name.remove_prefix(before + 1);
  }
  for (const NamedUnit& each : kNamedUnits) {
    if (name == each.name) return std::string(each.unit);
  }
  if (name.starts_with(kOccupancyLimit)) return "block";
  if (name.starts_with("device__attribute_")) return {};
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string_view counter = name.substr(0, dot);
  const std::string_view rollup = name.substr(std::min(dot + 1, name.size()));
  if (counter.ends_with("_pct") || HasPiece(rollup, "pct")) return "%";
  const size_t of_counter = counter.find("__");
  const std::string_view counted = of_counter == counter.npos ? counter : counter.substr(of_counter + 2);
  if (HasPiece(rollup, "ratio") || HasPiece(rollup, "max_rate")) {
    // Warps that are stalled for each instruction that is issued.
    return counted.starts_with("average_warps_issue_stalled") ||
                   counted.starts_with("average_warp_latency_issue_stalled")
               ? "inst"
               : "";
  }
  // The words before those that say where it was counted.
  if (counter.starts_with("launch__")) return {};
  std::string unit(CountedUnitOf(counted));
  if (unit.empty()) return unit;
  if (HasPiece(rollup, "per_second")) return unit == "cycle" ? "hz" : unit + "/s";
  if (HasPiece(rollup, "per_cycle") || HasPiece(rollup, "peak_sustained")) {
    return unit == "warp" || unit == "cycle" ? unit : unit + "/cycle";
  }
  return unit;
}

}  // namespace kprof
