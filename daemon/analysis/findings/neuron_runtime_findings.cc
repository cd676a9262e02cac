#include "daemon/analysis/findings/neuron_runtime_findings.h"

#include <array>
#include <utility>

#include "daemon/analysis/findings/finding_rule.h"
#include "daemon/analysis/functions/neuron/device_idle_time.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/neuron/neuron_lines.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

constexpr const char* kAsyncOverview =
    "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/neuron-runtime/api/nrt-async-api-overview.html";
constexpr const char* kExplorerVariables =
    "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/tools/neuron-explorer/environment-variables.html";
constexpr const char* kSystemProfiles =
    "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/tools/neuron-explorer/overview-system-profiles.html";

// The figures of one rank that rules ask for. Times are those of one NeuronCore: of several, the mean, as what is
// gained on each of them at once makes the whole shorter once.
struct RankMeasures {
  const CoreIdleSums& idle;
  const NeuronTotals& totals;
  Interval wall;
  int64_t between_sum_ns = 0;

  // Without a core whose times are known all are 0, but for the wall.
  int64_t OfCore(int64_t sum_ns) const { return idle.cores == 0 ? 0 : sum_ns / idle.cores; }
  int64_t wall_ns() const { return idle.cores == 0 ? wall.end_ns - wall.begin_ns : OfCore(idle.wall_ns); }
  int64_t idle_ns() const { return OfCore(idle.idle_ns); }
  int64_t idle_ns(IdleCategory category) const { return OfCore(idle.ns[static_cast<size_t>(category)]); }
  int64_t transfers_ns() const {
    return SaturatingSum(idle_ns(IdleCategory::kD2hTransfer), idle_ns(IdleCategory::kH2dTransfer));
  }
  // Idle time in which another core of the process ran, or was waited for; and that which nothing explains.
  int64_t other_core_ns() const { return OfCore(idle.other_core_ns); }
  int64_t program_ns() const { return idle_ns(IdleCategory::kUnattributed) - other_core_ns(); }
  // The idle time between executions in which the host submits. Requests that return at once hide it.
  int64_t between_ns() const { return OfCore(between_sum_ns); }
  // "the device is"
  std::string subject() const {
    return idle.cores == 1 ? "the device is" : "each of " + std::to_string(idle.cores) + " NeuronCores, on average, is";
  }
};

int64_t BetweenNs(const std::vector<CoreIdleTime>& cores) {
  int64_t between_ns = 0;
  for (const CoreIdleTime& core : cores) {
    if (!core.idle) continue;
    for (const DeviceGap& gap : core.idle->gaps) {
      if (gap.place != DeviceGap::Place::kBetween) continue;
      between_ns = SaturatingSum(between_ns, gap.ns[static_cast<size_t>(IdleCategory::kExecOverhead)]);
    }
  }
  return between_ns;
}

struct NeuronEvidence {
  const char* metric = "";
  const char* unit = "";
  int64_t (*value)(const RankMeasures& of) = nullptr;
};

struct NeuronFindingRule {
  const char* code = "";
  bool (*is_triggered)(const RankMeasures& of) = nullptr;
  int64_t (*gain_ns)(const RankMeasures& of) = nullptr;
  std::string (*message)(const RankMeasures& of) = nullptr;
  const char* hint = "";
  const char* source = "";
  const char* kind = "";
  std::array<NeuronEvidence, 4> evidence;  // behind wall_ns; the first is the number that triggers it
};

int64_t NoGain(const RankMeasures& /*of*/) {
  return 0;
}

// Thousandths of the whole time.
constexpr int64_t kMuchIdle = 50;
constexpr int64_t kSomeIdle = 20;

const NeuronFindingRule kNeuronRules[] = {
    {.code = "neuron_sync_execution",
     .is_triggered =
         [](const RankMeasures& of) {
           return of.totals.all.reading.sync > 0 && IsShare(of.between_ns(), of.wall_ns(), kSomeIdle);
         },
     .gain_ns = [](const RankMeasures& of) { return of.between_ns(); },
     .message =
         [](const RankMeasures& of) {
           const NeuronReading& reading = of.totals.all.reading;
           return (reading.word() == "sync"
                       ? TextOfCount(of.totals.all.executions, "execution", "executions") + ", each waited for"
                       : std::to_string(reading.sync) + " of " +
                             TextOfCount(of.totals.all.host_calls, "call waits", "calls wait") + " for the execution") +
                  ": between them " + of.subject() + " idle for " + TextOfNs(of.between_ns()) +
                  " while the host submits the next";
         },
     .hint = "Schedule executions ahead with the explicit asynchronous interface (nrta_*), or a framework that uses it",
     .source = kAsyncOverview,
     .kind = "lines",
     .evidence = {{{"submit_idle_ns", "ns", [](const RankMeasures& of) { return of.between_ns(); }},
                   {"executions", "count", [](const RankMeasures& of) { return of.totals.all.executions; }},
                   {"nrt_ns", "ns", [](const RankMeasures& of) { return of.totals.all.nrt_ns; }},
                   {"sync_calls", "count", [](const RankMeasures& of) { return of.totals.all.reading.sync; }}}}},
    {.code = "neuron_idle_by_transfers",
     .is_triggered = [](const RankMeasures& of) { return IsShare(of.transfers_ns(), of.wall_ns(), kMuchIdle); },
     .gain_ns = [](const RankMeasures& of) { return of.transfers_ns(); },
     .message =
         [](const RankMeasures& of) {
           return of.subject() + " idle for " + TextOfNs(of.transfers_ns()) + " during transfers, " +
                  TextOfShare(of.transfers_ns(), of.wall_ns()) + " of the time";
         },
     .hint = "Keep tensors on the device between executions, transfer in larger pieces, and beside executions",
     .source = kAsyncOverview,
     .kind = "device-idle",
     .evidence =
         {{{"transfer_ns", "ns", [](const RankMeasures& of) { return of.transfers_ns(); }},
           {"d2h_transfer_ns", "ns", [](const RankMeasures& of) { return of.idle_ns(IdleCategory::kD2hTransfer); }},
           {"h2d_transfer_ns", "ns", [](const RankMeasures& of) { return of.idle_ns(IdleCategory::kH2dTransfer); }},
           {"idle_ns", "ns", [](const RankMeasures& of) { return of.idle_ns(); }}}}},
    {.code = "neuron_idle_by_memory",
     .is_triggered =
         [](const RankMeasures& of) { return IsShare(of.idle_ns(IdleCategory::kMemoryMgmt), of.wall_ns(), kSomeIdle); },
     .gain_ns = [](const RankMeasures& of) { return of.idle_ns(IdleCategory::kMemoryMgmt); },
     .message =
         [](const RankMeasures& of) {
           return of.subject() + " idle for " + TextOfNs(of.idle_ns(IdleCategory::kMemoryMgmt)) +
                  " while tensors are allocated or freed";
         },
     .hint = "Allocate tensors once and use them again",
     .source = kSystemProfiles,
     .kind = "device-idle",
     .evidence = {{{"memory_mgmt_ns", "ns",
                    [](const RankMeasures& of) { return of.idle_ns(IdleCategory::kMemoryMgmt); }},
                   {"idle_ns", "ns", [](const RankMeasures& of) { return of.idle_ns(); }}}}},
    {.code = "neuron_host_bound",
     .is_triggered =
         [](const RankMeasures& of) {
           constexpr int64_t kTenth = 100;
           return of.totals.dropped_events == 0 && IsShare(of.program_ns(), of.wall_ns(), kTenth);
         },
     .gain_ns = [](const RankMeasures& of) { return of.program_ns(); },
     .message =
         [](const RankMeasures& of) {
           return of.subject() + " idle for " + TextOfNs(of.program_ns()) +
                  " that no event of the runtime explains: the program itself";
         },
     .hint = "Look at the program between its kernel calls with a profiler of the CPU, such as Scalene",
     .source = kSystemProfiles,
     .kind = "device-idle",
     .evidence = {{{"program_ns", "ns", [](const RankMeasures& of) { return of.program_ns(); }},
                   {"unattributed_ns", "ns",
                    [](const RankMeasures& of) { return of.idle_ns(IdleCategory::kUnattributed); }},
                   {"idle_ns", "ns", [](const RankMeasures& of) { return of.idle_ns(); }}}}},
    {.code = "neuron_cores_in_turns",
     .is_triggered = [](const RankMeasures& of) { return IsShare(of.other_core_ns(), of.wall_ns(), kMuchIdle); },
     .gain_ns = [](const RankMeasures& of) { return of.other_core_ns(); },
     .message =
         [](const RankMeasures& of) {
           return of.subject() + " idle for " + TextOfNs(of.other_core_ns()) +
                  " in which its process runs another one, or waits for it: cores run one after the other";
         },
     .hint = "Let them run at once: a thread or a process for each NeuronCore, or the asynchronous interface (nrta_*)",
     .source = kAsyncOverview,
     .kind = "device-idle",
     .evidence = {{{"other_core_ns", "ns", [](const RankMeasures& of) { return of.other_core_ns(); }},
                   {"idle_ns", "ns", [](const RankMeasures& of) { return of.idle_ns(); }},
                   {"cores", "count", [](const RankMeasures& of) { return of.idle.cores; }}}}},
    {.code = "neuron_events_lost",
     .is_triggered =
         [](const RankMeasures& of) {
           return of.totals.dropped_events > 0 || (of.totals.unknown_executions > 0 && !of.totals.is_cut);
         },
     .gain_ns = NoGain,
     .message =
         [](const RankMeasures& of) {
           return TextOfCount(of.totals.dropped_events, "event was", "events were") + " dropped, " +
                  TextOfCount(of.totals.unknown_executions, "execution has", "executions have") +
                  " no begin or no end: times are those of what is left";
         },
     .hint = "Capture less: a shorter time, fewer types (NEURON_RT_INSPECT_EVENT_FILTER_TYPE); or a larger ring "
             "(NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC)",
     .source = kExplorerVariables,
     .kind = "lines",
     .evidence = {{{"dropped_events", "count", [](const RankMeasures& of) { return of.totals.dropped_events; }},
                   {"unknown_executions", "count", [](const RankMeasures& of) { return of.totals.unknown_executions; }},
                   {"ends_alone", "count", [](const RankMeasures& of) { return of.totals.ends_alone; }}}}},
    {.code = "neuron_trace_cut",
     .is_triggered = [](const RankMeasures& of) { return of.totals.is_cut; },
     .gain_ns = NoGain,
     .message =
         [](const RankMeasures& of) {
           return "the trace's file ends in the middle: what came behind " +
                  TextOfCount(of.totals.events, "event", "events") + " is missing, " +
                  TextOfCount(of.totals.unknown_executions, "execution has", "executions have") + " no begin or no end";
         },
     .hint = "Copy the file again, or have its tool write it again: a full disk or a killed program leaves such a file",
     .source = kSystemProfiles,
     .kind = "lines",
     .evidence = {{{"events", "count", [](const RankMeasures& of) { return of.totals.events; }},
                   {"unknown_executions", "count", [](const RankMeasures& of) { return of.totals.unknown_executions; }},
                   {"begins_alone", "count", [](const RankMeasures& of) { return of.totals.begins_alone; }}}}},
};

std::string NeuronEvidenceJson(const NeuronFindingRule& rule, const RankMeasures& of) {
  const auto one = [](const char* metric, int64_t value, const char* unit) {
    return std::string("{\"metric\":\"") + metric + "\",\"value\":" + std::to_string(value) + ",\"unit\":\"" + unit +
           "\"}";
  };
  std::string json = "[" + one("wall_ns", of.wall_ns(), "ns");
  for (const NeuronEvidence& evidence : rule.evidence) {
    if (evidence.value != nullptr) json += "," + one(evidence.metric, evidence.value(of), evidence.unit);
  }
  return json + "]";
}

}  // namespace

Result<std::vector<NeuronRuntimeFinding>> FindNeuronRuntimeFindings(const AnalysisTraces& traces,
                                                                    const StopSignal& stop) {
  std::vector<NeuronRuntimeFinding> found;
  for (const NeuronRank& rank : NeuronRanksOf(traces)) {
    MemoryCharge charge(traces.take_memory());
    ASSIGN_OR_RETURN(NeuronEvents events, ReadNeuronEvents(traces, rank, charge, stop));
    std::vector<std::string> notes;
    const std::optional<Interval> whole = NeuronWallOf(events, notes);
    if (!whole || events.core_rows.empty()) continue;
    const NeuronTotals totals = NeuronLinesOf(events).totals;
    ASSIGN_OR_RETURN(const CoreIdleTimes times, CoreIdleTimesOf(events, *whole, {}, charge, stop));
    const CoreIdleSums idle = SumsOf(times.cores);
    const RankMeasures measures{idle, totals, *whole, BetweenNs(times.cores)};
    for (const NeuronFindingRule& rule : kNeuronRules) {
      if (!rule.is_triggered(measures)) continue;
      std::string command = std::string("kprofctl analyze ") + rule.kind + " " + rank.run;
      if (rank.rank) command += " --rank " + std::to_string(*rank.rank);
      found.push_back({rank.run, rank.rank, rule.code, rule.message(measures), NeuronEvidenceJson(rule, measures),
                       rule.hint, rule.source, std::move(command), rule.gain_ns(measures), measures.wall_ns()});
    }
  }
  return found;
}

Result<std::optional<double>> FindHostInflation(const AnalysisTraces& traces, const AnalysisTraces& without,
                                                const StopSignal& stop) {
  NeuronSums sums[2];
  for (const size_t is_without : {size_t{0}, size_t{1}}) {
    const AnalysisTraces& of = is_without == 1 ? without : traces;
    for (const NeuronRank& rank : NeuronRanksOf(of)) {
      MemoryCharge charge(of.take_memory());
      ASSIGN_OR_RETURN(const NeuronEvents events, ReadNeuronEvents(of, rank, charge, stop));
      sums[is_without].Add(NeuronLinesOf(events).totals.all);
    }
  }
  return HostInflationOf(sums[0], sums[1]);
}

}  // namespace kprof
