// How busy a Neuron device is, and what it waits for. Docs: docs/analyses/device-idle.md.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/device_idle_time.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/neuron/neuron_executions.h"
#include "daemon/analysis/functions/part_notes.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

enum DeviceIdleTable : size_t { kIdleCategoryRows, kIdleRankRows, kIdleGapRows };

constexpr AnalysisOption kDeviceIdleOptions[] = {
    {"rank", AnalysisType::kInteger, "", "", "Only this rank", "", 0},
    {"nc", AnalysisType::kInteger, "", "", "Only this logical NeuronCore", "", 0},
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

Status AddRowsOf(const NeuronRank& rank, const DeviceIdleTime& idle, size_t most_gaps, AnalysisAnswer& answer) {
  for (size_t i = 0; i < kIdleCategories; ++i) {
    RETURN_IF_ERROR(answer.AddRow(
        kIdleCategoryRows, {rank.run, ValueOf(rank.rank), std::string(IdleCategoryName(static_cast<IdleCategory>(i))),
                            idle.ns[i], PercentOf(idle.ns[i], idle.idle_ns)}));
  }
  const int64_t wall_ns = idle.whole.end_ns - idle.whole.begin_ns;
  RETURN_IF_ERROR(answer.AddRow(kIdleRankRows,
                                {rank.run, ValueOf(rank.rank), idle.whole.begin_ns, wall_ns, idle.busy_ns, idle.idle_ns,
                                 PercentOf(idle.busy_ns, wall_ns), static_cast<int64_t>(idle.gaps.size())}));
  std::vector<const DeviceGap*> gaps;
  for (const DeviceGap& gap : idle.gaps) gaps.push_back(&gap);
  std::stable_sort(gaps.begin(), gaps.end(), [](const DeviceGap* a, const DeviceGap* b) {
    return a->time.end_ns - a->time.begin_ns > b->time.end_ns - b->time.begin_ns;
  });
  if (gaps.size() > most_gaps) {
    answer.AddNote("the " + std::to_string(most_gaps) + " longest gaps of " + std::to_string(gaps.size()) +
                   " are listed");
    gaps.resize(most_gaps);
  }
  for (const DeviceGap* gap : gaps) {
    AnalysisAnswer::Row row{rank.run,
                            ValueOf(rank.rank),
                            gap->time.begin_ns,
                            gap->time.end_ns - gap->time.begin_ns,
                            std::string(IdleCategoryName(LargestOf(gap->ns))),
                            std::string(PlaceWord(gap->place))};
    for (const int64_t ns : gap->ns) row.emplace_back(ns);
    RETURN_IF_ERROR(answer.AddRow(kIdleGapRows, std::move(row)));
  }
  return OkStatus();
}

Result<AnalysisAnswer> AnswerDeviceIdle(const AnalysisTraces& traces, const AnalysisOptions& options,
                                        const StopSignal& stop) {
  RETURN_IF_ERROR(StillWanted(stop));
  AnalysisAnswer answer(traces);
  int64_t wall_ns = 0;
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
  int64_t unplaced = 0;
  int64_t dropped = 0;
  bool has_some = false;
  int64_t unknown_ranks = 0;
  for (const NeuronRank& rank : NeuronRanksOf(traces)) {
    MemoryCharge charge(traces.take_memory());
    ASSIGN_OR_RETURN(NeuronEvents events, ReadNeuronEvents(traces, rank, charge, stop));
    if (const std::optional<int64_t> nc = options.integer("nc")) {
      std::erase_if(events.core_rows, [&](const NeuronCoreRow& row) { return row.of.nc != *nc; });
    }
    std::vector<std::string> notes;
    std::optional<Interval> whole = NeuronWallOf(events, notes);
    for (std::string& note : notes) answer.AddNote(std::move(note));
    if (!whole) continue;
    has_some = true;
    const bool has_placed = std::any_of(events.core_rows.begin(), events.core_rows.end(), [](const NeuronCoreRow& row) {
      return row.start_ns != kNoValue && row.end_ns != kNoValue;
    });
    if (!has_placed) {
      ++unknown_ranks;
      for (const NeuronCoreRow& row : events.core_rows) unplaced += row.start_ns == kNoValue || row.end_ns == kNoValue;
      continue;
    }
    whole->begin_ns = std::max(whole->begin_ns, SafeTime(options.integer("from").value_or(whole->begin_ns)));
    whole->end_ns =
        std::max(whole->begin_ns, std::min(whole->end_ns, SafeTime(options.integer("to").value_or(whole->end_ns))));
    std::set<NeuronCoreKey> cores;
    for (const NeuronCoreRow& row : events.core_rows) cores.insert(row.of);
    if (cores.size() > 1) {
      answer.AddNote(std::to_string(cores.size()) + " logical NeuronCores" +
                     (rank.rank ? " of rank " + std::to_string(*rank.rank) : std::string()) +
                     " are taken together: the time in which any of them ran is busy, and each alone may idle longer");
    }
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(events.core_rows.size() * sizeof(Interval))));
    const std::vector<Interval> busy = NeuronBusyOf(events);
    const DeviceIdleTime idle = IdleTimeOf(*whole, busy, std::move(events.categorised));
    RETURN_IF_ERROR(AddRowsOf(rank, idle, RowsOfPart(traces), answer));
    wall_ns = SaturatingSum(wall_ns, whole->end_ns - whole->begin_ns);
    busy_ns = SaturatingSum(busy_ns, idle.busy_ns);
    idle_ns = SaturatingSum(idle_ns, idle.idle_ns);
    dropped = SaturatingSum(dropped, events.dropped_events);
    for (const NeuronCoreRow& row : events.core_rows) unplaced += row.start_ns == kNoValue || row.end_ns == kNoValue;
    const bool is_cut = options.integer("from") || options.integer("to");
    if (idle.outside_ns > 0 && !is_cut) {
      answer.AddNote(std::to_string(idle.outside_ns) +
                     " ns of executions are outside of the wall time that the profile tells: they do not count");
    }
  }
  if (unknown_ranks > 0) {
    answer.AddNote("no execution of " + std::to_string(unknown_ranks) + (unknown_ranks == 1 ? " rank" : " ranks") +
                   " has a time on the host's clock: how long its device was idle is not known");
  }
  if (!has_some) answer.AddNote("nothing of a Neuron runtime: import its system trace, or a kernel profile of nkipy");
  if (unplaced > 0) {
    const std::string what =
        std::to_string(unplaced) +
        " executions on a core have no begin or no end on the host's clock: their time is not known, "
        "and beside others counts as idle";
    answer.AddTrust({"executions_unplaced", what});
  }
  if (dropped > 0) {
    answer.AddTrust({"events_lost",
                     std::to_string(dropped) +
                         " events of the Neuron runtime were dropped during the capture: time that they would explain "
                         "is unattributed, or counts as idle"});
  }
  const bool is_known = wall_ns > 0;
  answer.SetFacts({is_known ? AnalysisValue(wall_ns) : AnalysisValue(),
                   is_known ? AnalysisValue(busy_ns) : AnalysisValue(),
                   is_known ? AnalysisValue(idle_ns) : AnalysisValue(), PercentOf(busy_ns, wall_ns)});
  return answer;
}

}  // namespace

AnalysisKind DeviceIdle() {
  using enum AnalysisType;
  return {.name = "device-idle",
          .version = 1,
          .question = "How busy is a Neuron device, and what does it wait for while it is idle?",
          .options = {kDeviceIdleOptions},
          .facts = {{"wall_ns", kInteger, "ns", "The whole time; of several ranks, added up"},
                    {"busy_ns", kInteger, "ns", "In which any core of the device runs an execution"},
                    {"idle_ns", kInteger, "ns", "The rest"},
                    {"utilization_percent", kReal, "percent", "busy_ns of wall_ns"}},
          .tables = {{"categories",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"category", kText, "",
                        "d2h_transfer, h2d_transfer, memory_mgmt, exec_overhead, sync_wait, unattributed"},
                       {"ns", kInteger, "ns", "Idle time of which it is the innermost explanation"},
                       {"percent", kReal, "percent", "Of the rank's idle time"}}},
                     {"ranks",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"start_ns", kInteger, "ns", "Where the whole time begins, from the trace's base"},
                       {"wall_ns", kInteger, "ns", "The whole time"},
                       {"busy_ns", kInteger, "ns", "In which any core runs an execution"},
                       {"idle_ns", kInteger, "ns", "The rest"},
                       {"utilization_percent", kReal, "percent", "busy_ns of wall_ns"},
                       {"gaps", kInteger, "", "How many stretches are idle"}}},
                     {"gaps",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
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
