// Executions of a Neuron device. A logical NeuronCore of several physical ones (LNC) gives a row for each of these:
// they are one execution, which takes as long as any of them runs. Which rows these are their ids tell, and their
// times: ids begin again with each model, and some traces have none.
//
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {

struct NeuronExecution {
  NeuronCoreKey of;
  int64_t exec_id = kNoValue;
  int64_t seq_id = kNoValue;
  uint32_t model = 0;
  int64_t rows = 0;             // physical cores
  bool is_known = false;        // how long it took
  bool is_whole = true;         // all of its rows begin and end
  bool is_by_time = false;      // no id tells that its rows are of one: they overlap
  int64_t core_ns = 0;          // of all its cores, added up
  int64_t ns = 0;               // in which any of its cores ran
  int64_t start_ns = kNoValue;  // on the host's clock
  int64_t end_ns = kNoValue;

  // Where it stands among the others.
  int64_t order_ns() const { return start_ns != kNoValue ? start_ns : end_ns; }
};

// In the order in which they began; those of which no time on the host's clock is known come last.
std::vector<NeuronExecution> NeuronExecutionsOf(const NeuronEvents& events);

// Rows that tell neither an id of their execution nor when they ran, of NeuronCores with several physical ones, or that
// tell none: each is taken for an execution, and may be a part of one.
int64_t RowsOfUnknownExecutions(const NeuronEvents& events);

// How many physical cores a logical one has: what most executions have, the larger number of two that are as frequent.
// 0: there is no execution.
int64_t LogicalCoreSizeOf(const std::vector<NeuronExecution>& executions);

// The time in which each logical NeuronCore runs anything, on any of its physical ones: disjoint, in order. Empty: none
// of its executions has a place on the host's clock.
std::map<NeuronCoreKey, std::vector<Interval>> NeuronBusyOf(const NeuronEvents& events);

}  // namespace kprof
