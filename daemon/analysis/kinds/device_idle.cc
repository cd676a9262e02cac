// How busy a Neuron device is, and what it waits for. Docs: docs/analyses/device-idle.md.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/device_idle_time.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/part_notes.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

enum DeviceIdleTable : size_t { kIdleCategoryRows, kIdleRankRows, kIdleCoreRows, kIdleGapRows };

constexpr AnalysisOption kDeviceIdleOptions[] = {
    {"rank", AnalysisType::kInteger, "", "", "Only this rank", "", 0},
    {"nc", AnalysisType::kInteger, "", "", "Only logical NeuronCores of this number, of each process one", "", 0},
    {"process", AnalysisType::kText, "", "", "Only NeuronCores of this process, as the trace calls it"},
    {"instance", AnalysisType::kText, "", "", "Only NeuronCores of this host, as the trace calls it"},
    {"from", AnalysisType::kInteger, "", "ns", "Only from this time on, counted from the trace's base"},
    {"to", AnalysisType::kInteger, "", "ns", "Only before this time"},
    {"limit", AnalysisType::kInteger, "", "", "At most so many rows of each table", "", 1},
};

const char* PlaceWord(DeviceGap::Place place) {
  switch (place) {
    case DeviceGap::Place::kBefore:
      return "before";
    case DeviceGap::Place::kBetween:
      return "between";
    case DeviceGap::Place::kAfter:
      return "after";
    case DeviceGap::Place::kAll:
      return "all";
  }
  return "";
}

// The category that has most of it.
IdleCategory LargestOf(const IdleNs& ns) {
  return static_cast<IdleCategory>(std::max_element(ns.begin(), ns.end()) - ns.begin());
}

std::optional<std::string> TextOption(const AnalysisOptions& options, std::string_view name) {
  const std::string& text = options.text(name);
  return text.empty() ? std::nullopt : std::optional(text);
}

AnalysisValue TextOrNull(const std::string& text) {
  return text.empty() ? AnalysisValue() : AnalysisValue(text);
}

AnalysisValue NumberOrNull(int64_t number) {
  return number < 0 ? AnalysisValue() : AnalysisValue(number);
}

// The columns by which a core is told, behind those of its rank.
AnalysisAnswer::Row CoreColumns(const NeuronRank& rank, const NeuronEvents& events, const NeuronCoreKey& core) {
  const RuntimeProcess& process = events.processes[core.process];
  return {rank.run,
          ValueOf(rank.rank),
          TextOrNull(process.instance),
          TextOrNull(process.process),
          NumberOrNull(core.worker),
          NumberOrNull(core.nc)};
}

Status AddCategories(const NeuronRank& rank, const CoreIdleSums& sums, AnalysisAnswer& answer) {
  for (size_t i = 0; i < kIdleCategories; ++i) {
    RETURN_IF_ERROR(answer.AddRow(
        kIdleCategoryRows, {rank.run, ValueOf(rank.rank), std::string(IdleCategoryName(static_cast<IdleCategory>(i))),
                            sums.ns[i], PercentOf(sums.ns[i], sums.idle_ns)}));
  }
  return OkStatus();
}

// A core whose executions have no place in time has a row without times.
Status AddCoreRow(const NeuronRank& rank, const NeuronEvents& events, const CoreIdleTime& core,
                  AnalysisAnswer& answer) {
  AnalysisAnswer::Row row = CoreColumns(rank, events, core.of);
  if (core.idle) {
    const DeviceIdleTime& idle = *core.idle;
    const int64_t wall_ns = idle.whole.end_ns - idle.whole.begin_ns;
    const auto gaps = static_cast<int64_t>(idle.gaps.size());
    for (const int64_t ns : {idle.whole.begin_ns, wall_ns, idle.busy_ns, idle.idle_ns}) row.emplace_back(ns);
    row.push_back(PercentOf(idle.busy_ns, wall_ns));
    row.emplace_back(gaps);
    for (const int64_t ns : idle.ns) row.emplace_back(ns);
    row.emplace_back(idle.other_core_ns);
  } else {
    constexpr size_t kColumnsOfTimes = 7 + kIdleCategories;
    row.resize(row.size() + kColumnsOfTimes);
  }
  return answer.AddRow(kIdleCoreRows, std::move(row));
}

Status AddGaps(const NeuronRank& rank, const NeuronEvents& events, const std::vector<CoreIdleTime>& cores,
               size_t most_gaps, AnalysisAnswer& answer) {
  using CoreGap = std::pair<const CoreIdleTime*, const DeviceGap*>;
  std::vector<CoreGap> gaps;
  for (const CoreIdleTime& core : cores) {
    if (!core.idle) continue;
    for (const DeviceGap& gap : core.idle->gaps) gaps.emplace_back(&core, &gap);
  }
  std::stable_sort(gaps.begin(), gaps.end(), [](const CoreGap& a, const CoreGap& b) {
    return a.second->time.end_ns - a.second->time.begin_ns > b.second->time.end_ns - b.second->time.begin_ns;
  });
  if (gaps.size() > most_gaps) {
    answer.AddNote("the " + std::to_string(most_gaps) + " longest gaps of " + std::to_string(gaps.size()) +
                   " are listed");
    gaps.resize(most_gaps);
  }
  for (const auto& [core, gap] : gaps) {
    AnalysisAnswer::Row row = CoreColumns(rank, events, core->of);
    row.emplace_back(gap->time.begin_ns);
    row.emplace_back(gap->time.end_ns - gap->time.begin_ns);
    row.emplace_back(std::string(IdleCategoryName(LargestOf(gap->ns))));
    row.emplace_back(std::string(PlaceWord(gap->place)));
    for (const int64_t ns : gap->ns) row.emplace_back(ns);
    RETURN_IF_ERROR(answer.AddRow(kIdleGapRows, std::move(row)));
  }
  return OkStatus();
}

// Answers rank by rank, and adds up what is true of all.
class DeviceIdleAnswer {
 public:
  DeviceIdleAnswer(const AnalysisTraces& traces, const AnalysisOptions& options)
      : traces_(traces),
        choice_{.nc = options.integer("nc"),
                .process = TextOption(options, "process"),
                .instance = TextOption(options, "instance"),
                .from_ns = options.integer("from"),
                .to_ns = options.integer("to")},
        answer_(traces) {}

  Result<AnalysisAnswer> Make(const StopSignal& stop) {
    for (const NeuronRank& rank : NeuronRanksOf(traces_)) {
      MemoryCharge charge(traces_.take_memory());
      ASSIGN_OR_RETURN(NeuronEvents events, ReadNeuronEvents(traces_, rank, charge, stop));
      RETURN_IF_ERROR(AddRank(rank, events, charge, stop));
    }
    SayWhatIsOdd();
    const bool is_known = sums_.wall_ns > 0;
    const auto fact = [&](int64_t ns) { return is_known ? AnalysisValue(ns) : AnalysisValue(); };
    answer_.SetFacts(
        {fact(sums_.wall_ns), fact(sums_.busy_ns), fact(sums_.idle_ns), PercentOf(sums_.busy_ns, sums_.wall_ns)});
    return std::move(answer_);
  }

 private:
  Status AddRank(const NeuronRank& rank, NeuronEvents& events, MemoryCharge& charge, const StopSignal& stop) {
    std::vector<std::string> notes;
    const std::optional<Interval> wall = NeuronWallOf(events, notes);
    for (std::string& note : notes) answer_.AddNote(std::move(note));
    if (!wall) return OkStatus();
    has_some_ = true;
    ASSIGN_OR_RETURN(const CoreIdleTimes times, CoreIdleTimesOf(events, *wall, choice_, charge, stop));
    const std::vector<CoreIdleTime>& cores = times.cores;
    if (times.left_out > 0) {
      answer_.AddNote(std::to_string(times.left_out) +
                      " NeuronCores more are left out: --process and --instance choose");
    }
    dropped_ = SaturatingSum(dropped_, events.dropped_events);
    const CoreIdleSums sums = SumsOf(cores);
    int64_t gaps = 0;
    int64_t outside_ns = 0;
    std::optional<int64_t> start_ns;
    for (const CoreIdleTime& core : cores) {
      unplaced_ += core.unplaced;
      unknown_cores_ += core.idle ? 0 : 1;
      RETURN_IF_ERROR(AddCoreRow(rank, events, core, answer_));
      if (!core.idle) continue;
      sums_.Add(*core.idle);
      gaps += static_cast<int64_t>(core.idle->gaps.size());
      outside_ns = SaturatingSum(outside_ns, core.idle->outside_ns);
      start_ns = std::min(start_ns.value_or(INT64_MAX), core.idle->whole.begin_ns);
    }
    if (sums.cores == 0) {
      if (cores.empty()) ++idle_ranks_;
      return OkStatus();
    }
    RETURN_IF_ERROR(AddCategories(rank, sums, answer_));
    RETURN_IF_ERROR(answer_.AddRow(
        kIdleRankRows, {rank.run, ValueOf(rank.rank), ValueOf(start_ns), sums.wall_ns, sums.busy_ns, sums.idle_ns,
                        PercentOf(sums.busy_ns, sums.wall_ns), gaps, sums.cores, sums.other_core_ns}));
    const bool is_cut = choice_.from_ns || choice_.to_ns;
    if (outside_ns > 0 && !is_cut) {
      answer_.AddNote(std::to_string(outside_ns) +
                      " ns of executions are outside of the wall time that the profile tells: they do not count");
    }
    return AddGaps(rank, events, cores, RowsOfPart(traces_), answer_);
  }

  void SayWhatIsOdd() {
    if (sums_.cores > 1) {
      answer_.AddNote("wall_ns, busy_ns, idle_ns and the categories are added up over " + std::to_string(sums_.cores) +
                      " logical NeuronCores: the table cores has each");
    }
    if (unknown_cores_ > 0) {
      answer_.AddNote("no execution of " + std::to_string(unknown_cores_) +
                      (unknown_cores_ == 1 ? " NeuronCore" : " NeuronCores") +
                      " has a time on the host's clock: how long it was idle is not known");
    }
    if (idle_ranks_ > 0) {
      const bool is_chosen = choice_.nc || choice_.process || choice_.instance;
      answer_.AddNote("no execution " + std::string(is_chosen ? "of such a NeuronCore" : "on a NeuronCore") +
                      " is in the trace" + (idle_ranks_ == 1 ? "" : "s of " + std::to_string(idle_ranks_) + " ranks"));
    }
    if (!has_some_) {
      answer_.AddNote("nothing of a Neuron runtime: import its system trace, or a kernel profile of nkipy");
    }
    if (unplaced_ > 0) {
      answer_.AddTrust({"executions_unplaced",
                        std::to_string(unplaced_) +
                            " executions on a core have no begin or no end on the host's clock: their time is not "
                            "known, and beside others counts as idle"});
    }
    if (dropped_ > 0) {
      answer_.AddTrust(
          {"events_lost", std::to_string(dropped_) +
                              " events of the Neuron runtime were dropped during the capture: time that they would "
                              "explain is unattributed, or counts as idle"});
    }
  }

  const AnalysisTraces& traces_;
  const CoreChoice choice_;
  AnalysisAnswer answer_;
  CoreIdleSums sums_;
  bool has_some_ = false;
  int64_t idle_ranks_ = 0;
  int64_t unknown_cores_ = 0;
  int64_t unplaced_ = 0;
  int64_t dropped_ = 0;
};

Result<AnalysisAnswer> AnswerDeviceIdle(const AnalysisTraces& traces, const AnalysisOptions& options,
                                        const StopSignal& stop) {
  RETURN_IF_ERROR(StillWanted(stop));
  return DeviceIdleAnswer(traces, options).Make(stop);
}

}  // namespace

AnalysisKind DeviceIdle() {
  using enum AnalysisType;
  return {.name = "device-idle",
          .version = 1,
          .question = "How busy is a Neuron device, and what does it wait for while it is idle?",
          .options = {kDeviceIdleOptions},
          .facts = {{"wall_ns", kInteger, "ns", "The whole time of each NeuronCore, added up over all of them"},
                    {"busy_ns", kInteger, "ns", "In which each NeuronCore runs an execution, added up"},
                    {"idle_ns", kInteger, "ns", "The rest"},
                    {"utilization_percent", kReal, "percent", "busy_ns of wall_ns"}},
          .tables = {{"categories",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"category", kText, "",
                        "d2h_transfer, h2d_transfer, memory_mgmt, exec_overhead, sync_wait, unattributed"},
                       {"ns", kInteger, "ns",
                        "Idle time of which it is the innermost explanation; of several NeuronCores, added up"},
                       {"percent", kReal, "percent", "Of the rank's idle time"}}},
                     {"ranks",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"start_ns", kInteger, "ns", "Where the whole time begins, from the trace's base"},
                       {"wall_ns", kInteger, "ns", "The whole time of each of its NeuronCores, added up"},
                       {"busy_ns", kInteger, "ns", "In which each of them runs an execution, added up"},
                       {"idle_ns", kInteger, "ns", "The rest"},
                       {"utilization_percent", kReal, "percent", "busy_ns of wall_ns"},
                       {"gaps", kInteger, "", "How many stretches one of them is idle"},
                       {"cores", kInteger, "", "How many logical NeuronCores these are"},
                       {"other_core_ns", kInteger, "ns",
                        "Of what is unattributed: another core of the process ran, or nrt_execute waited for it"}}},
                     {"cores",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"instance", kText, "", "The host, as the trace calls it; null: not told"},
                       {"process", kText, "", "The process, as the trace calls it; null: not told"},
                       {"worker", kInteger, "", "The global worker's number; null: not told"},
                       {"nc", kInteger, "", "The logical NeuronCore of that process"},
                       {"start_ns", kInteger, "ns", "Where the whole time begins; null, as all times: not known"},
                       {"wall_ns", kInteger, "ns", "The whole time"},
                       {"busy_ns", kInteger, "ns", "In which it runs an execution"},
                       {"idle_ns", kInteger, "ns", "The rest"},
                       {"utilization_percent", kReal, "percent", "busy_ns of wall_ns"},
                       {"gaps", kInteger, "", "How many stretches it is idle"},
                       {"d2h_transfer_ns", kInteger, "ns", "Of idle_ns"},
                       {"h2d_transfer_ns", kInteger, "ns", "Of idle_ns"},
                       {"memory_mgmt_ns", kInteger, "ns", "Of idle_ns"},
                       {"exec_overhead_ns", kInteger, "ns", "Of idle_ns"},
                       {"sync_wait_ns", kInteger, "ns", "Of idle_ns"},
                       {"unattributed_ns", kInteger, "ns", "Of idle_ns"},
                       {"other_core_ns", kInteger, "ns",
                        "Of unattributed_ns: another core of the process ran, or nrt_execute waited for it"}}},
                     {"gaps",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"instance", kText, "", "The host of the NeuronCore that is idle; null: not told"},
                       {"process", kText, "", "Its process; null: not told"},
                       {"worker", kInteger, "", "Its worker; null: not told"},
                       {"nc", kInteger, "", "Its number"},
                       {"start_ns", kInteger, "ns", "From the trace's base; the longest gap first"},
                       {"duration_ns", kInteger, "ns", "How long"},
                       {"category", kText, "", "The one with most of it"},
                       {"place", kText, "", "before the first execution, between two, after the last, all: none ran"},
                       {"d2h_transfer_ns", kInteger, "ns", "Of it"},
                       {"h2d_transfer_ns", kInteger, "ns", "Of it"},
                       {"memory_mgmt_ns", kInteger, "ns", "Of it"},
                       {"exec_overhead_ns", kInteger, "ns", "Of it"},
                       {"sync_wait_ns", kInteger, "ns", "Of it"},
                       {"unattributed_ns", kInteger, "ns", "Of it"}}}},
          .answer = &AnswerDeviceIdle};
}

}  // namespace kprof
