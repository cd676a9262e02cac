// Events and kernel calls of a Neuron runtime, from all parts of one rank of a run: they stand in the side tables
// `neuron_event` and `neuron_call` (neuron_tables.h), sorted by what they are for. The parts of one rank are looked at
// together: their times are put on the clock of the first one, by the parts' bases.
//
// On the readers' thread. Memory, which the traces' take_memory is asked for: about 100 bytes for each execution and
// call, 24 for each event of a category of idle time. Costs a pass over the tables.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// Reasons for which the device is idle.
enum class IdleCategory : uint8_t { kD2hTransfer, kH2dTransfer, kMemoryMgmt, kExecOverhead, kSyncWait, kUnattributed };
constexpr size_t kIdleCategories = 6;
std::string_view IdleCategoryName(IdleCategory category);
// The category of a type of events: "nrt_tensor_read". Nothing: it explains no idle time.
std::optional<IdleCategory> IdleCategoryOf(std::string_view event_type);

// A process with a Neuron runtime. Those of different parts are different ones, whatever they are called, but for those
// that tell their host: a trace may stand in several files.
struct RuntimeProcess {
  std::string instance;             // the host, as the trace has it; empty: not told
  std::string process;              // the same
  std::optional<int64_t> first_ns;  // of all its events
  std::optional<int64_t> last_ns;
};

// A process' logical NeuronCore. Not told: below 0.
struct NeuronCoreKey {
  uint32_t process = 0;  // its number among NeuronEvents::processes
  int64_t worker = 0;
  int64_t nc = 0;
  bool operator==(const NeuronCoreKey&) const = default;
  bool operator<(const NeuronCoreKey& other) const {
    return std::tie(process, worker, nc) < std::tie(other.process, other.worker, other.nc);
  }
};

// A time that is not known is kNoValue, here and below.
struct NeuronCoreRow {  // nc_exec_running: an execution on one physical core
  NeuronCoreKey of;
  int64_t core = kNoValue;
  int64_t exec_id = kNoValue;
  int64_t tracking_id = kNoValue;
  int64_t seq_id = kNoValue;
  int64_t start_ns = kNoValue;
  int64_t end_ns = kNoValue;
  int64_t device_start_ns = kNoValue;
  int64_t device_end_ns = kNoValue;
  uint32_t model = 0;  // its number among NeuronEvents::texts

  // On its own clock where that is told, else on the host's. Nothing: it is not known.
  std::optional<int64_t> duration_ns() const {
    if (device_start_ns != kNoValue && device_end_ns >= device_start_ns) return device_end_ns - device_start_ns;
    if (start_ns != kNoValue && end_ns >= start_ns) return end_ns - start_ns;
    return std::nullopt;
  }
};

struct NeuronHostCall {  // nrt_execute or nrta_execute_schedule
  NeuronCoreKey of;
  bool is_async = false;
  int64_t thread = kNoValue;
  int64_t exec_id = kNoValue;
  int64_t seq_id = kNoValue;
  int64_t start_ns = kNoValue;
  int64_t end_ns = kNoValue;

  std::optional<int64_t> duration_ns() const {
    return start_ns != kNoValue && end_ns >= start_ns ? std::optional(end_ns - start_ns) : std::nullopt;
  }
  // Where it stands among the others.
  int64_t order_ns() const { return start_ns != kNoValue ? start_ns : end_ns; }
};

struct ExecutionLink {  // an event of the runtime that tells which execution a thread works on: kbl_exec_pre
  NeuronCoreKey of;
  int64_t thread = kNoValue;
  int64_t exec_id = kNoValue;
  int64_t seq_id = kNoValue;
  int64_t start_ns = kNoValue;
};

struct NeuronProgramCall {
  uint32_t file = 0;  // numbers among NeuronEvents::texts; 0: not told
  uint32_t kernel = 0;
  int64_t line = kNoValue;
  int64_t call_index = kNoValue;
  int64_t thread = kNoValue;
  int64_t nc = kNoValue;
  int64_t seq_id = kNoValue;
  int64_t exec_id = kNoValue;
  int64_t start_ns = kNoValue;
  int64_t end_ns = kNoValue;
};

struct CategorisedEvent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  IdleCategory category = IdleCategory::kUnattributed;
  uint32_t of = 0;  // its NeuronCore's number among NeuronEvents::cores
};

struct NeuronEvents {
  std::vector<size_t> parts;  // of the traces, that have some
  std::vector<std::string> texts{""};
  std::vector<RuntimeProcess> processes;
  std::vector<NeuronCoreKey> cores;  // of categorised events; one may be there twice
  std::vector<NeuronCoreRow> core_rows;
  std::vector<NeuronHostCall> host_calls;
  std::vector<ExecutionLink> links;
  std::vector<NeuronProgramCall> calls;  // in the order of call_index, else as they were recorded
  std::vector<CategorisedEvent> categorised;
  int64_t events = 0;
  int64_t dropped_events = 0;  // as the traces say
  bool is_cut = false;         // a file of them ends in the middle
  int64_t begins_alone = 0;
  int64_t ends_alone = 0;
  std::optional<int64_t> first_ns;  // of all events of the runtime
  std::optional<int64_t> last_ns;
  std::optional<Interval> wall;  // as a profiler within the program measured it
};

// The parts of one rank of a run, by their places among the traces'. Parts without a rank are of one.
struct NeuronRank {
  std::string run;
  std::optional<int64_t> rank;
  std::vector<size_t> parts;
};
// Those that have one of the tables, in the order of the traces.
std::vector<NeuronRank> NeuronRanksOf(const AnalysisTraces& traces);

// Fails as reading does, and as `charge` does.
Result<NeuronEvents> ReadNeuronEvents(const AnalysisTraces& traces, const NeuronRank& rank, MemoryCharge& charge,
                                      const StopSignal& stop);

// The whole time: as the program's profiler measured it where its clock is that of the trace, else from the first event
// to the last one. Nothing: there are no events. `notes`: why the profiler's was not taken.
std::optional<Interval> NeuronWallOf(const NeuronEvents& events, std::vector<std::string>& notes);

}  // namespace kprof
