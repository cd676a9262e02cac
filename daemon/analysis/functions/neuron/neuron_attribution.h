// Finds the kernel call of a program that made a call of the Neuron runtime, or an execution on the device: by ids
// where there are some, else by what lies within what in time, else by the order in which they began, and that only
// where nothing between two things that are sure is missing. Never by the order in which they ended: what a ring buffer
// lost shifts nothing.
//
// Pure. O(n log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/neuron/neuron_executions.h"

namespace kprof {

constexpr size_t kNobody = SIZE_MAX;

struct NeuronAttribution {
  std::vector<NeuronExecution> executions;
  // The places among the events' lists, or kNobody.
  std::vector<size_t> host_of_execution;
  std::vector<size_t> call_of_host;
  std::vector<size_t> call_of_execution;
  int64_t lnc = 0;
  int64_t odd_lnc = 0;       // executions with another number of rows than lnc
  int64_t by_overlap = 0;    // executions whose rows no id tells, but that they overlap
  int64_t unknown_rows = 0;  // that may be parts of executions (RowsOfUnknownExecutions)
  int64_t by_order = 0;      // calls or executions that were found by their order
  int64_t not_in_order = 0;  // calls that have no id and no time, and whose number fits nothing
};
NeuronAttribution Attribute(const NeuronEvents& events);

// How host calls and their executions lie to each other.
struct NeuronReading {
  int64_t sync = 0;            // nrt_execute that waits for its execution
  int64_t async = 0;           // nrt_execute that returns before
  int64_t explicit_async = 0;  // nrta_execute_schedule
  int64_t unseen = 0;          // nrt_execute without an execution to see it by

  void Add(const NeuronReading& other);
  bool has_some() const { return sync + async + explicit_async + unseen > 0; }
  // "sync", "async", "undecidable"
  std::string_view word() const;
  // One line of why.
  std::string reason() const;
};
NeuronReading ReadingOf(const NeuronHostCall& host, const NeuronExecution* execution);

}  // namespace kprof
