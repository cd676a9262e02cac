#include "daemon/analysis/findings/neuron_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "daemon/analysis/findings/neuron_findings.h"
#include "daemon/analysis/findings/neuron_runtime_findings.h"
#include "daemon/analysis/functions/neuron/neuron_first_look.h"
#include "daemon/analysis/functions/neuron/profile_answer.h"
#include "daemon/analysis/functions/neuron/profile_first_look.h"

namespace kprof {
namespace {

constexpr size_t kMostProfilesShown = 8;
constexpr size_t kMostNeuronFindings = 3;

struct ShownFinding {
  std::string code;
  int64_t gain_ns = 0;
  AnalysisAnswer::Row row;  // without the count
  int64_t count = 1;
};

Status AddProfileRows(const DeviceProfile& profile, const ProfileFirstLook& look, size_t first,
                      AnalysisAnswer& answer) {
  RETURN_IF_ERROR(AddProfileRow(
      profile, first,
      {WordOrNull(profile.kernel), look.wall_ns, RealOrNull(look.active_percent), WordOrNull(look.busiest),
       RealOrNull(look.busiest_percent), WordOrNull(look.bound), RealOrNull(look.dma_percent),
       RealOrNull(look.mfu_percent), RealOrNull(look.mbu_percent), RealOrNull(look.spill_reload_bytes),
       static_cast<int64_t>(look.cores), "kprofctl analyze neuron-bounds " + profile.run},
      answer));
  for (const ProfileFirstLook::Top& one : look.top) {
    RETURN_IF_ERROR(
        AddProfileRow(profile, first + 1,
                      {WordOrNull(one.line.file), one.line.line > 0 ? AnalysisValue(one.line.line) : AnalysisValue(),
                       WordOrNull(one.engine), WordOrNull(one.opcode), one.count, one.sum_ns, one.percent},
                      answer));
  }
  return OkStatus();
}

Status AddRuntimeRows(const NeuronRuntimeLooks& looks, size_t table, AnalysisAnswer& answer) {
  for (const NeuronRuntimeLook& look : looks.ranks) {
    RETURN_IF_ERROR(
        answer.AddRow(table, {look.run, ValueOf(look.rank), look.cores, ValueOf(look.wall_ns), ValueOf(look.busy_ns),
                              look.wall_ns && look.busy_ns ? PercentOf(*look.busy_ns, *look.wall_ns) : AnalysisValue(),
                              look.executions, look.nc_ns, look.nrt_ns, look.reading, WordOrNull(look.kernel),
                              WordOrNull(look.file), ValueOf(look.line), RealOrNull(look.line_percent),
                              WordOrNull(look.idle_cause), RealOrNull(look.idle_percent), look.says, look.command}));
  }
  return OkStatus();
}

void CountFinding(std::vector<ShownFinding>& findings, ShownFinding found) {
  const auto same =
      std::find_if(findings.begin(), findings.end(), [&](const ShownFinding& one) { return one.code == found.code; });
  if (same == findings.end()) {
    findings.push_back(std::move(found));
    return;
  }
  found.count = same->count + 1;
  if (found.gain_ns < same->gain_ns) found.row = std::move(same->row);
  found.gain_ns = std::max(found.gain_ns, same->gain_ns);
  *same = std::move(found);
}

Status CountFindings(const AnalysisTraces& traces, const DeviceProfile& profile, const StopSignal& stop,
                     std::vector<ShownFinding>& findings) {
  ASSIGN_OR_RETURN(const std::vector<NeuronFigures> figures,
                   NeuronFigures::Read(traces, profile, ProfileWindow(), stop));
  for (const NeuronFinding& found : AskNeuronRules(figures).found) {
    const int64_t gain_ns = std::llround(std::min(found.gain_ns.value_or(0), 9e18));
    CountFinding(
        findings,
        {found.rule->code,
         gain_ns,
         {profile.run, std::string(found.rule->code), found.message, WordOrNull(profile.kernel),
          found.gain_ns && found.whole_ns > 0 ? AnalysisValue(100 * *found.gain_ns / found.whole_ns) : AnalysisValue(),
          found.evidence, found.hint, std::string(found.rule->source),
          found.gain_ns ? AnalysisValue(gain_ns) : AnalysisValue(), ValueOf(profile.rank), AnalysisValue(),
          "kprofctl analyze " + std::string(found.rule->kind) + " " + profile.run}});
  }
  return OkStatus();
}

}  // namespace

std::vector<AnalysisTable> NeuronSummaryTables() {
  using enum AnalysisType;
  return {{"neuron_profiles",
           {{"run", kText, "", "The run", true},
            {"rank", kInteger, "", "The rank of a device profile of Neuron; null where nobody knows it"},
            {"kernel", kText, "", "The program; null: the profile does not name it"},
            {"wall_ns", kInteger, "ns", "The execution"},
            {"active_percent", kReal, "percent", "Any engine or DMA worked"},
            {"busiest", kText, "", "The engine that worked longest, or dma; null: not known"},
            {"busiest_percent", kReal, "percent", "It worked; of wall_ns"},
            {"bound", kText, "",
             "memory: dma is busiest; compute: an engine; latency: under half is active; null: not known"},
            {"dma_percent", kReal, "percent", "DMA worked; null: no packets were recorded"},
            {"mfu_percent", kReal, "percent", "As in engines; null: the profile lacks what it is made of"},
            {"mbu_percent", kReal, "percent", "As in engines"},
            {"spill_reload_bytes", kReal, "bytes", "Loaded again after they were spilled; null: not known"},
            {"cores", kInteger, "", "Physical cores in the profile; 0: it is a summary alone"},
            {"command", kText, "", "It shows more"},
            kExecutionColumn}},
          {"neuron_top",
           {{"run", kText, "", "The run", true},
            {"rank", kInteger, "", "The rank"},
            {"file", kText, "", "Of the lines with most time of instructions; null: no instruction has a line"},
            {"line", kInteger, "", "The line"},
            {"engine", kText, "", "Where no instruction has a line: the engine"},
            {"opcode", kText, "", "The same: the opcode"},
            {"count", kInteger, "", "Instructions that worked"},
            {"sum_ns", kInteger, "ns", "Of these together"},
            {"percent", kReal, "percent", "sum_ns of all work"},
            kExecutionColumn}},
          {"neuron_runtime",
           {{"run", kText, "", "The run", true},
            {"rank", kInteger, "", "The rank of a Neuron runtime's trace; null where nobody knows it"},
            {"cores", kInteger, "", "NeuronCores, of each process by itself, that ran something"},
            {"wall_ns", kInteger, "ns", "The trace, for each core, added up; null: it has no execution"},
            {"busy_ns", kInteger, "ns", "The cores ran something, added up; null: when is not known"},
            {"busy_percent", kReal, "percent", "busy_ns of wall_ns"},
            {"executions", kInteger, "", "On the device"},
            {"nc_ns", kInteger, "ns", "Of these together"},
            {"nrt_ns", kInteger, "ns", "Of the runtime's calls on the host"},
            {"reading", kText, "", "sync, async, or undecidable"},
            {"kernel", kText, "", "Of the line with most device time; null: no kernel call is known"},
            {"file", kText, "", "That line's"},
            {"line", kInteger, "", "That line"},
            {"line_percent", kReal, "percent", "Of nc_ns, that it has"},
            {"idle_cause", kText, "", "Most of the idle time, as in device-idle"},
            {"idle_percent", kReal, "percent", "Of the idle time, that it is"},
            {"says", kText, "", "All of it as a sentence"},
            {"command", kText, "", "It shows more"}}}};
}

Status AddNeuronSummary(const AnalysisTraces& traces, const StopSignal& stop, size_t first, size_t findings,
                        AnalysisAnswer& answer) {
  std::vector<ShownFinding> shown;
  ASSIGN_OR_RETURN(const std::vector<DeviceProfile> profiles, FindDeviceProfiles(traces, stop));
  for (size_t i = 0; i < std::min(profiles.size(), kMostProfilesShown); ++i) {
    ASSIGN_OR_RETURN(const ProfileFirstLook look, LookAtProfile(traces, profiles[i], stop));
    RETURN_IF_ERROR(AddProfileRows(profiles[i], look, first, answer));
    RETURN_IF_ERROR(CountFindings(traces, profiles[i], stop, shown));
  }
  if (profiles.size() > kMostProfilesShown) {
    answer.AddNote("the first " + std::to_string(kMostProfilesShown) + " of " + std::to_string(profiles.size()) +
                   " device profiles of Neuron; --rank chooses another");
  }
  ASSIGN_OR_RETURN(const NeuronRuntimeLooks looks, LookAtNeuronRuntime(traces, stop));
  RETURN_IF_ERROR(AddRuntimeRows(looks, first + 2, answer));
  if (looks.left_out > 0) {
    answer.AddNote(std::to_string(looks.left_out) + " more ranks have a trace of a Neuron runtime; --rank chooses one");
  }
  ASSIGN_OR_RETURN(const std::vector<NeuronRuntimeFinding> of_runtime, FindNeuronRuntimeFindings(traces, stop));
  for (const NeuronRuntimeFinding& found : of_runtime) {
    CountFinding(shown,
                 {found.code,
                  found.gain_ns,
                  {found.run, std::string(found.code), found.message, AnalysisValue(),
                   PercentOf(found.gain_ns, found.whole_ns), found.evidence, std::string(found.hint),
                   std::string(found.source), found.gain_ns, ValueOf(found.rank), AnalysisValue(), found.command}});
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const ShownFinding& one, const ShownFinding& other) { return one.gain_ns > other.gain_ns; });
  for (size_t i = 0; i < std::min(shown.size(), kMostNeuronFindings); ++i) {
    AnalysisAnswer::Row row = std::move(shown[i].row);
    row.emplace_back(shown[i].count);
    RETURN_IF_ERROR(answer.AddRow(findings, std::move(row)));
  }
  return OkStatus();
}

}  // namespace kprof
