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
  std::string inner;  // "file:line" of calls within those that nothing matches, which something does; the first one

  void Add(const NeuronSums& other);
  // nc_ns to nrt_ns. Nothing: there is no host time, or it says nothing, as that of explicitly asynchronous requests.
  std::optional<double> ratio() const;
  // Why its reading is that.
  std::string reason() const;
};

struct NeuronTotals {
  NeuronSums all;
  NeuronSums unattributed;         // of no kernel call
  int64_t lnc = 0;                 // physical cores of an execution; 0: none, or of several ranks different ones
  int64_t rows = 0;                // nc_exec_running
  int64_t odd_lnc = 0;             // executions with another number of rows
  int64_t by_overlap = 0;          // executions whose rows no id tells, but that they overlap
  int64_t unknown_rows = 0;        // that may be parts of executions, and count as whole ones
  int64_t unknown_executions = 0;  // of which is not known how long they took
  int64_t executions_alone = 0;    // that no host call matches
  int64_t host_calls_alone = 0;    // that no execution matches
  int64_t by_order = 0;
  int64_t not_in_order = 0;
  int64_t events = 0;
  int64_t dropped_events = 0;
  bool is_cut = false;  // a file of the trace ends in the middle
  int64_t begins_alone = 0;
  int64_t ends_alone = 0;

  void Add(const NeuronTotals& other);
};

struct NeuronLines {
  std::map<NeuronPlace, NeuronSums> places;
  std::map<std::string, NeuronSums> models;  // what is of no kernel call, by the model's name; empty: not told
  NeuronTotals totals;

  void Add(const NeuronLines& other);
  // The reading of all for people: where calls of each line agree, and lines differ, "mixed: attn_fwd, down_proj sync;
  // up_proj async".
  std::string ReadingOfAll() const;
  // Why it is that.
  std::string ReasonOfAll() const;
};

NeuronLines NeuronLinesOf(const NeuronEvents& events);

// How many times longer a host call takes with a profiler of the CPU, whose signals it waits for, than without.
// Nothing: one of the two has no host calls.
std::optional<double> HostInflationOf(const NeuronSums& with, const NeuronSums& without);

}  // namespace kprof
