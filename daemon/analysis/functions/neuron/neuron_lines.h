// Time of the device and of the Neuron runtime by source lines and kernels: sums over the executions and host calls
// that each kernel call made (neuron_attribution.h). Sums of several ranks can be added; ratios and percentages are
// made of sums.
//
// Values; pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/analysis/functions/neuron/neuron_attribution.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"

namespace kprof {

struct NeuronPlace {
  std::string file;
  int64_t line = kNoValue;
  std::string kernel;
  bool operator<(const NeuronPlace& other) const {
    return std::tie(file, line, kernel) < std::tie(other.file, other.line, other.kernel);
  }
};

struct NeuronSums {
  int64_t calls = 0;        // of the program
  int64_t calls_alone = 0;  // of them those that nothing matches
  int64_t executions = 0;   // of which is known how long they took
  int64_t host_calls = 0;   // of the runtime
  int64_t nc_ns = 0;        // in which any physical core of an execution ran, added up over executions
  int64_t nc_core_ns = 0;   // of all physical cores, added up
  int64_t nrt_ns = 0;       // of host calls
  NeuronReading reading;

  void Add(const NeuronSums& other);
  // nc_ns to nrt_ns. Nothing: there is no host time, or it says nothing, as that of explicitly asynchronous requests.
  std::optional<double> ratio() const;
};

struct NeuronTotals {
  NeuronSums all;
  NeuronSums unattributed;         // of no kernel call
  int64_t lnc = 0;                 // physical cores of an execution; 0: none, or of several ranks different ones
  int64_t rows = 0;                // nc_exec_running
  int64_t odd_lnc = 0;             // executions with another number of rows
  int64_t unknown_executions = 0;  // of which is not known how long they took
  int64_t executions_alone = 0;    // that no host call matches
  int64_t host_calls_alone = 0;    // that no execution matches
  int64_t by_order = 0;
  int64_t not_in_order = 0;
  int64_t events = 0;
  int64_t dropped_events = 0;
  int64_t begins_alone = 0;
  int64_t ends_alone = 0;

  void Add(const NeuronTotals& other);
};

struct NeuronLines {
  std::map<NeuronPlace, NeuronSums> places;
  std::map<std::string, NeuronSums> models;  // what is of no kernel call, by the model's name; empty: not told
  NeuronTotals totals;

  void Add(const NeuronLines& other);
};

NeuronLines NeuronLinesOf(const NeuronEvents& events);

// How many times longer a host call takes with a profiler of the CPU, whose signals it waits for, than without.
// Nothing: one of the two has no host calls.
std::optional<double> HostInflationOf(const NeuronSums& with, const NeuronSums& without);

}  // namespace kprof
