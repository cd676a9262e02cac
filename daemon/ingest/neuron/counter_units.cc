#include "daemon/ingest/neuron/counter_units.h"

namespace kprof {
namespace {

struct SuffixUnit {
  std::string_view suffix;
  CounterUnit unit;
};
// The first one that fits counts.
constexpr SuffixUnit kSuffixUnits[] = {
    {"_percent", {100, "percent"}},
    {"_time_ns", {1, "ns"}},
    {"_ns", {1, "ns"}},
    {"_time", {1e9, "ns"}},
    {"_hw_timestamp", {1, "ns"}},
    {"_bytes", {1, "bytes"}},
    {"_size", {1, "bytes"}},
    {"_cycle_count", {1, "cycles"}},
    {"_cycles", {1, "cycles"}},
    {"_count", {1, "count"}},
    {"_flops", {1, "flop"}},
    {"_bandwidth_ratio", {1, "flop/byte"}},
    {"_arithmetic_intensity", {1, "flop/byte"}},
    {"_ddr_bandwidth", {1, "bytes/s"}},
    {"_clock_freq", {1, "GHz"}},
};

struct CounterRename {
  std::string_view older;
  std::string_view newer;
};
constexpr CounterRename kRenames[] = {
    {"pe_num_rows", "tensor_engine_num_rows"},
    {"pe_num_cols", "tensor_engine_num_cols"},
    {"pe_clock_freq", "tensor_engine_clock_freq"},
    {"pe_clock_others", "neuroncore_clock_freq"},
};

}  // namespace

CounterUnit UnitOfNeuronCounter(std::string_view name) {
  for (const SuffixUnit& one : kSuffixUnits) {
    if (name.ends_with(one.suffix)) return one.unit;
  }
  return {};
}

std::string_view NewerCounterName(std::string_view name) {
  for (const CounterRename& one : kRenames) {
    if (name == one.older) return one.newer;
  }
  return name;
}

}  // namespace kprof
