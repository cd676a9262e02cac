// Units of the counters of a Neuron profile's summary and metadata. The profiler writes shares of 1 where it says
// percent, and seconds for times; both are normalised once, here: percent from 0 to 100, ns. Pure; any thread.
#pragma once

#include <string_view>

namespace kprof {

struct CounterUnit {
  double factor = 1;  // from the profiler's number to ours
  const char* unit = "";
};

CounterUnit UnitOfNeuronCounter(std::string_view name);

// The name that newer schemas have for it: `pe_num_rows` of metadata is `tensor_engine_num_rows`.
std::string_view NewerCounterName(std::string_view name);

}  // namespace kprof
