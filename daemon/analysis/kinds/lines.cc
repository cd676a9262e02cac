// Time of Neuron devices and of their runtime by the source lines that asked for it. Docs: docs/analyses/lines.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/neuron/neuron_lines.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

enum LinesTable : size_t { kNeuronLineRows, kRankLineRows, kLineKernels, kLineTotals, kInflationRows };

constexpr AnalysisOption kLinesOptions[] = {
    {"rank", AnalysisType::kInteger, "", "", "Only this rank", "", 0},
    {"without", AnalysisType::kText, "", "",
     "A run of the same program without a profiler of the CPU, to see how much that inflates host time", "",
     std::numeric_limits<int64_t>::min(), true},
    {"limit", AnalysisType::kInteger, "", "", "At most so many rows of each table", "", 1},
};

AnalysisValue TextValue(const std::string& text) {
  return text.empty() ? AnalysisValue() : AnalysisValue(text);
}

AnalysisValue RatioValue(std::optional<double> ratio) {
  return ratio ? AnalysisValue(*ratio) : AnalysisValue();
}

// The cells of a row behind its place.
AnalysisAnswer::Row SumsRow(const NeuronSums& sums, const NeuronSums& all) {
  return {sums.executions,
          sums.nc_ns,
          sums.nc_core_ns,
          sums.nrt_ns,
          PercentOf(sums.nc_ns, all.nc_ns),
          PercentOf(sums.nrt_ns, all.nrt_ns),
          RatioValue(sums.ratio()),
          std::string(sums.reading.word()),
          sums.reason(),
          sums.calls,
          sums.calls_alone,
          sums.host_calls};
}

bool IsLonger(const NeuronSums& a, const NeuronSums& b) {
  return std::pair(a.nc_ns, a.nrt_ns) > std::pair(b.nc_ns, b.nrt_ns);
}

bool HasSome(const NeuronSums& sums) {
  return sums.executions + sums.host_calls > 0;
}

template <typename Key>
std::vector<std::pair<Key, NeuronSums>> LongestFirst(const std::map<Key, NeuronSums>& sums) {
  std::vector<std::pair<Key, NeuronSums>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return IsLonger(a.second, b.second); });
  return sorted;
}

// Rows of one table of lines, the longest first, then what is of none. `before`: what stands before each row.
Status AddLineRows(size_t table, const NeuronLines& lines, const AnalysisAnswer::Row& before, AnalysisAnswer& answer) {
  const auto add = [&](const NeuronPlace& place, const NeuronSums& sums) {
    AnalysisAnswer::Row row = before;
    row.push_back(TextValue(place.file));
    row.push_back(place.line == kNoValue ? AnalysisValue() : AnalysisValue(place.line));
    row.push_back(TextValue(place.kernel));
    AnalysisAnswer::Row values = SumsRow(sums, lines.totals.all);
    row.insert(row.end(), values.begin(), values.end());
    return answer.AddRow(table, std::move(row));
  };
  for (const auto& [place, sums] : LongestFirst(lines.places)) RETURN_IF_ERROR(add(place, sums));
  return HasSome(lines.totals.unattributed) ? add({}, lines.totals.unattributed) : OkStatus();
}

Status AddKernelRows(const NeuronLines& lines, AnalysisAnswer& answer) {
  std::map<std::pair<std::string, std::string>, NeuronSums> kernels;  // by name, and by what tells it
  for (const auto& [place, sums] : lines.places) kernels[{place.kernel, "call"}].Add(sums);
  for (const auto& [model, sums] : lines.models) kernels[{model, model.empty() ? "none" : "model"}].Add(sums);
  for (const auto& [kernel, sums] : LongestFirst(kernels)) {
    AnalysisAnswer::Row row{TextValue(kernel.first), kernel.second};
    AnalysisAnswer::Row values = SumsRow(sums, lines.totals.all);
    row.insert(row.end(), values.begin(), values.end());
    RETURN_IF_ERROR(answer.AddRow(kLineKernels, std::move(row)));
  }
  return OkStatus();
}

AnalysisAnswer::Row TotalsRow(const NeuronLines& lines) {
  const NeuronTotals& totals = lines.totals;
  return {totals.all.nc_ns,
          totals.all.nc_core_ns,
          totals.all.nrt_ns,
          RatioValue(totals.all.ratio()),
          std::string(totals.all.reading.word()),
          lines.ReasonOfAll(),
          totals.all.executions,
          totals.unknown_executions,
          totals.rows,
          totals.lnc == 0 ? AnalysisValue() : AnalysisValue(totals.lnc),
          totals.odd_lnc,
          totals.all.calls,
          totals.all.calls_alone,
          totals.all.host_calls,
          totals.host_calls_alone,
          totals.executions_alone,
          totals.unattributed.executions,
          totals.unattributed.nc_ns,
          totals.unattributed.nrt_ns,
          totals.by_order,
          totals.events,
          totals.dropped_events,
          totals.begins_alone,
          totals.ends_alone};
}

std::string TotalJson(const NeuronTotals& totals) {
  std::string json = "{";
  const auto add = [&](const char* name, int64_t value) {
    json += (json.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":" + std::to_string(value);
  };
  add("nc_ns", totals.all.nc_ns);
  add("nc_core_ns", totals.all.nc_core_ns);
  add("nrt_ns", totals.all.nrt_ns);
  add("executions", totals.all.executions);
  add("unattributed_nc_ns", totals.unattributed.nc_ns);
  add("unattributed_nrt_ns", totals.unattributed.nrt_ns);
  add("dropped_events", totals.dropped_events);
  if (totals.lnc > 0) {
    add("lnc", totals.lnc);
  } else {
    json += ",\"lnc\":null";
  }
  return json + "}";
}

void AddLineNotes(const NeuronTotals& totals, AnalysisAnswer& answer) {
  const auto note = [&](int64_t count, const std::string& text) {
    if (count > 0) answer.AddNote(std::to_string(count) + " " + text);
  };
  if (totals.dropped_events > 0) {
    answer.AddTrust(
        {"events_lost",
         std::to_string(totals.dropped_events) +
             " events of the Neuron runtime were dropped during the capture: times are those of what is left"});
  }
  if (totals.unknown_rows > 0) {
    answer.AddTrust({"executions_unsure",
                     std::to_string(totals.unknown_rows) +
                         " rows of executions tell neither an id nor a time, and a NeuronCore may have several "
                         "physical ones: each counts as an execution, and nc_ns may count one time several times"});
  }
  if (totals.is_cut) {
    answer.AddTrust({"trace_cut", "a file of the trace ends in the middle: times are those of what is before"});
  }
  note(totals.by_overlap, "executions have no id in the trace: rows of several physical cores that overlap are one");
  note(totals.odd_lnc, "executions have another number of physical cores than the others (" +
                           std::to_string(totals.lnc) + "): a row of theirs was lost");
  note(totals.unknown_executions, "executions have lost their begin or end: how long they took is not known");
  note(totals.not_in_order,
       "calls tell neither a time nor an id, and not as many executions are there: nothing says which is whose");
  note(totals.by_order, "calls and executions were matched by the order in which they began: nothing else tells");
}

// Nothing: the factor is not known, or none.
std::optional<int64_t> CorrectedNs(int64_t nrt_ns, std::optional<double> factor) {
  if (!factor || *factor <= 0) return std::nullopt;
  const double corrected_ns = static_cast<double>(nrt_ns) / *factor;
  return corrected_ns < static_cast<double>(kLastTimeNs) ? std::optional<int64_t>(std::llround(corrected_ns))
                                                         : std::nullopt;
}

// Host time of a call with and without a profiler of the CPU, whose signals it waits for.
class Inflation {
 public:
  Inflation(const NeuronLines& with, const NeuronLines& without) : with_(with), without_(without) {}

  Status AddRows(AnalysisAnswer& answer) const {
    for (const auto& [place, sums] : LongestFirst(with_.places)) {
      const auto other = without_.places.find(place);
      RETURN_IF_ERROR(AddRow(place, sums, other == without_.places.end() ? NeuronSums() : other->second, answer));
    }
    const NeuronSums& unattributed = with_.totals.unattributed;
    return HasSome(unattributed) ? AddRow({}, unattributed, without_.totals.unattributed, answer) : OkStatus();
  }
  std::optional<double> factor() const { return HostInflationOf(with_.totals.all, without_.totals.all); }

 private:
  static Status AddRow(const NeuronPlace& place, const NeuronSums& with, const NeuronSums& without,
                       AnalysisAnswer& answer) {
    const std::optional<double> factor = HostInflationOf(with, without);
    const auto per_call = [](const NeuronSums& sums) {
      return sums.host_calls == 0
                 ? AnalysisValue()
                 : AnalysisValue(static_cast<double>(sums.nrt_ns) / static_cast<double>(sums.host_calls));
    };
    const std::optional<int64_t> corrected_ns = CorrectedNs(with.nrt_ns, factor);
    const std::optional<double> ratio =
        corrected_ns && *corrected_ns > 0 && with.ratio()
            ? std::optional(static_cast<double>(with.nc_ns) / static_cast<double>(*corrected_ns))
            : std::nullopt;
    return answer.AddRow(kInflationRows,
                         {TextValue(place.file), place.line == kNoValue ? AnalysisValue() : AnalysisValue(place.line),
                          TextValue(place.kernel), RatioValue(factor), per_call(with), per_call(without), with.nrt_ns,
                          ValueOf(corrected_ns), RatioValue(ratio)});
  }

  const NeuronLines& with_;
  const NeuronLines& without_;
};

// `run` alone, or all but `but`.
Result<NeuronLines> LinesOfRanks(const AnalysisTraces& traces, const std::set<std::string>& runs, bool are_asked,
                                 AnalysisAnswer* answer, const StopSignal& stop) {
  NeuronLines all;
  bool is_first = true;
  for (const NeuronRank& rank : NeuronRanksOf(traces)) {
    if (runs.contains(rank.run) != are_asked) continue;
    MemoryCharge charge(traces.take_memory());
    ASSIGN_OR_RETURN(const NeuronEvents events, ReadNeuronEvents(traces, rank, charge, stop));
    NeuronLines lines = NeuronLinesOf(events);
    if (answer != nullptr) {
      const AnalysisAnswer::Row before{rank.run, ValueOf(rank.rank)};
      RETURN_IF_ERROR(AddLineRows(kRankLineRows, lines, before, *answer));
      AnalysisAnswer::Row row = before;
      const AnalysisAnswer::Row totals = TotalsRow(lines);
      row.insert(row.end(), totals.begin(), totals.end());
      RETURN_IF_ERROR(answer->AddRow(kLineTotals, std::move(row)));
    }
    if (std::exchange(is_first, false)) {
      all = std::move(lines);
    } else {
      all.Add(lines);
    }
  }
  return all;
}

// Why no kernel call is known, and what to do about it.
std::string WhyNoCalls(const AnalysisTraces& traces, const NeuronTotals& totals) {
  bool is_recording = false;
  for (const TracePart& part : traces.parts()) is_recording |= part.reader->IntegerFact("neuron.calls").has_value();
  const bool has_events = totals.rows > 0 || totals.all.host_calls > 0;
  if (is_recording) {
    return "no kernel call was recorded: nothing tells which source line an execution is of. spike.SpikeModel is "
           "recorded by itself; others by python -m kprof.neuron --wrap MODULE:PATH, or by kprof.neuron.record() in "
           "the program" +
           std::string(has_events ? "; table kernels has models" : "");
  }
  if (has_events)
    return "no kernel calls: nothing tells which source line an execution is of; table kernels has models";
  return "nothing of a Neuron runtime: import its system trace, or a kernel profile of nkipy";
}

Result<AnalysisAnswer> AnswerLines(const AnalysisTraces& traces, const AnalysisOptions& options,
                                   const StopSignal& stop) {
  RETURN_IF_ERROR(StillWanted(stop));
  AnalysisAnswer answer(traces);
  std::set<std::string> without;
  const std::string& named = options.text("without");
  for (size_t at = 0; at < named.size();) {
    const size_t comma = std::min(named.find(',', at), named.size());
    without.insert(named.substr(at, comma - at));
    at = comma + 1;
  }
  ASSIGN_OR_RETURN(const NeuronLines lines, LinesOfRanks(traces, without, false, &answer, stop));
  RETURN_IF_ERROR(AddLineRows(kNeuronLineRows, lines, {}, answer));
  RETURN_IF_ERROR(AddKernelRows(lines, answer));
  AddLineNotes(lines.totals, answer);
  const NeuronTotals& totals = lines.totals;
  std::optional<double> factor;
  if (!without.empty()) {
    ASSIGN_OR_RETURN(const NeuronLines alone, LinesOfRanks(traces, without, true, nullptr, stop));
    const Inflation inflation(lines, alone);
    factor = inflation.factor();
    RETURN_IF_ERROR(inflation.AddRows(answer));
    if (!factor) {
      answer.AddNote("no inflation: one of the two sides has no calls of the Neuron runtime");
    } else if (constexpr double kMuch = 1.1; *factor > kMuch) {
      answer.AddTrust({"host_time_inflated", "calls of the Neuron runtime take " + std::to_string(*factor) +
                                                 " times as long as without the profiler: read corrected_nrt_ns"});
    }
  }
  if (totals.all.calls == 0) answer.AddNote(WhyNoCalls(traces, totals));
  const std::optional<int64_t> corrected_ns = CorrectedNs(totals.all.nrt_ns, factor);
  answer.SetFacts({TotalJson(totals), RatioValue(totals.all.ratio()), std::string(totals.all.reading.word()),
                   lines.ReasonOfAll(), RatioValue(factor), ValueOf(corrected_ns)});
  return answer;
}

using LineColumns = std::vector<AnalysisColumn>;

LineColumns SumColumns(LineColumns before) {
  using enum AnalysisType;
  const LineColumns sums = {
      {"executions", kInteger, "", "On the device, of which is known how long they took"},
      {"nc_ns", kInteger, "ns", "In which any physical core of an execution ran, added up over executions"},
      {"nc_core_ns", kInteger, "ns", "Of all physical cores, added up"},
      {"nrt_ns", kInteger, "ns", "Of calls of the runtime on the host: nrt_execute, nrta_execute_schedule"},
      {"nc_percent", kReal, "percent", "nc_ns of all nc_ns"},
      {"nrt_percent", kReal, "percent", "nrt_ns of all nrt_ns"},
      {"nc_nrt_ratio", kReal, "", "nc_ns to nrt_ns; null: no host time, or that of requests that return at once"},
      {"reading", kText, "", "sync, async, or undecidable"},
      {"reason", kText, "", "Why"},
      {"calls", kInteger, "", "Of the program, as a profiler within it recorded them"},
      {"calls_alone", kInteger, "", "Of them those that neither an execution nor a host call matches"},
      {"host_calls", kInteger, "", "Of the runtime"}};
  before.insert(before.end(), sums.begin(), sums.end());
  return before;
}

}  // namespace

AnalysisKind Lines() {
  using enum AnalysisType;
  const LineColumns place = {{"file", kText, "", "The source file; null: of no line that is known"},
                             {"line", kInteger, "", "The line"},
                             {"kernel", kText, "", "The kernel that was called"}};
  LineColumns of_rank = {{"run", kText, "", "The run", true},
                         {"rank", kInteger, "", "The rank; null where nobody knows it"}};
  of_rank.insert(of_rank.end(), place.begin(), place.end());
  return {.name = "lines",
          .version = 1,
          .question = "Which source lines cost time of a Neuron device, and which cost time on the host?",
          .options = {kLinesOptions},
          .facts = {{"total", kJson, "",
                     "All ranks together: nc_ns, nc_core_ns, nrt_ns, executions, unattributed_nc_ns, "
                     "unattributed_nrt_ns, dropped_events, lnc"},
                    {"nc_nrt_ratio", kReal, "", "nc_ns to nrt_ns of all"},
                    {"reading", kText, "", "sync, async, or undecidable"},
                    {"reason", kText, "", "Why"},
                    {"nrt_inflation", kReal, "",
                     "How many times longer a host call takes than in the run of option "
                     "without; null: there is none"},
                    {"corrected_nrt_ns", kInteger, "ns", "nrt_ns without that"}},
          .tables = {{"lines", SumColumns(place)},
                     {"rank_lines", SumColumns(of_rank)},
                     {"kernels", SumColumns({{"kernel", kText, "", "The kernel; of what no call tells, the model"},
                                             {"told_by", kText, "", "call, model, or none"}})},
                     {"totals",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"nc_ns", kInteger, "ns", "As in lines"},
                       {"nc_core_ns", kInteger, "ns", "As in lines"},
                       {"nrt_ns", kInteger, "ns", "As in lines"},
                       {"nc_nrt_ratio", kReal, "", "As in lines"},
                       {"reading", kText, "", "As in lines"},
                       {"reason", kText, "", "Why"},
                       {"executions", kInteger, "", "Of which is known how long they took"},
                       {"unknown_executions", kInteger, "", "Those that lost their begin or end"},
                       {"rows", kInteger, "", "Events nc_exec_running: one of each physical core"},
                       {"lnc", kInteger, "", "Physical cores of an execution, of most of them"},
                       {"odd_lnc", kInteger, "", "Executions with another number of rows"},
                       {"calls", kInteger, "", "Of the program"},
                       {"calls_alone", kInteger, "", "Of them those that nothing matches"},
                       {"host_calls", kInteger, "", "Of the runtime"},
                       {"host_calls_alone", kInteger, "", "Of them those that no execution matches"},
                       {"executions_alone", kInteger, "", "Executions that no host call matches"},
                       {"unattributed_executions", kInteger, "", "Those of no call of the program"},
                       {"unattributed_nc_ns", kInteger, "ns", "Their time"},
                       {"unattributed_nrt_ns", kInteger, "ns", "Of host calls of no call of the program"},
                       {"by_order", kInteger, "", "Matches by order alone"},
                       {"events", kInteger, "", "Of the runtime, in all"},
                       {"dropped_events", kInteger, "", "That the capture says it dropped"},
                       {"begins_alone", kInteger, "", "Events that never end"},
                       {"ends_alone", kInteger, "", "Events that never begin"}}},
                     {"inflation",
                      {{"file", kText, "", "As in lines"},
                       {"line", kInteger, "", "As in lines"},
                       {"kernel", kText, "", "As in lines"},
                       {"factor", kReal, "", "How many times longer a host call takes with the profiler"},
                       {"nrt_per_call_ns", kReal, "ns", "With it"},
                       {"nrt_per_call_without_ns", kReal, "ns", "Without it"},
                       {"nrt_ns", kInteger, "ns", "As in lines"},
                       {"corrected_nrt_ns", kInteger, "ns", "nrt_ns by the factor"},
                       {"corrected_ratio", kReal, "", "nc_ns to corrected_nrt_ns"}}}},
          .answer = &AnswerLines};
}

}  // namespace kprof
