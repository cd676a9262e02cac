#include "daemon/analysis/report/report_opportunities.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "daemon/analysis/report/answer_table.h"
#include "daemon/analysis/report/report_configuration.h"
#include "daemon/analysis/report/report_timeline.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

constexpr size_t kMostOpportunities = 10;

// Rules that see one cause from two sides: a report has room for three.
constexpr std::pair<std::string_view, std::string_view> kCauses[] = {
    {"uncoalesced_access", "access"},
    {"ncu_UncoalescedGlobalAccess", "access"},
    {"ncu_MemoryCacheAccessPattern", "access"},
    {"ncu_MemoryL2Compression", "access"},
    {"bank_conflicts", "banks"},
    {"ncu_UncoalescedSharedAccess", "banks"},
    {"ncu_SharedMemoryConflicts", "banks"},
    {"low_occupancy", "occupancy"},
    {"occupancy_limit", "occupancy"},
    {"occupancy_loss", "occupancy"},
    {"ncu_TheoreticalOccupancy", "occupancy"},
    {"ncu_AchievedOccupancy", "occupancy"},
    {"few_waves", "grid"},
    {"ncu_LaunchConfiguration", "grid"},
    {"ncu_SmallGrid", "grid"},
    {"warp_stalls", "stalls"},
    {"ncu_CPIStall", "stalls"},
    {"thread_divergence", "divergence"},
    {"ncu_ThreadDivergence", "divergence"},
};

std::string CauseOf(const std::string& code) {
  for (const auto& [rule, cause] : kCauses) {
    if (rule == code) return std::string(cause);
  }
  return code;
}

// A finding about a kernel tells its gain of that kernel's time; a report tells what all of it would gain.
std::optional<double> GainOf(const AnswerTable& rows, size_t row, const Report& report) {
  const std::optional<double> gain_ns = rows.Number(row, "gain_ns");
  if (!gain_ns || report.measured_ns.value_or(0) <= 0) return std::nullopt;
  return *gain_ns / *report.measured_ns * 100;
}

}  // namespace

Result<std::string> AddOpportunities(const ReportedRun& of, std::span<const StageKernel> kernels, bool are_measured,
                                     const StopSignal& stop, Report& report) {
  std::map<std::string, std::string> given;
  if (are_measured && !of.stages.empty()) given.emplace("stages", of.stages);
  if (are_measured && !of.policy.empty()) given.emplace("policy", of.policy);
  ASSIGN_OR_RETURN(const std::optional<KindAnswer> findings,
                   AskKindIfItFits("findings", of.traces, given, stop, report.notes));
  if (!findings) {
    report.left_out.emplace_back("findings");
    return std::string();
  }
  const AnswerTable rows = findings->table("findings");
  std::string first_says;
  std::set<std::pair<std::string, std::string>> causes;  // with their kernels
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string code = rows.Text(row, "code");
    const std::string kernel = rows.Text(row, "kernel");
    const std::optional<double> gain = are_measured ? GainOf(rows, row, report) : rows.Number(row, "gain_percent");
    // Nothing to gain: a suspicion about the numbers themselves.
    if (gain && *gain <= 0) {
      const std::string suspicion = code + " of " + (kernel.empty() ? "the run" : ShortKernelName(kernel));
      if (report.notes.size() < 20) report.notes.push_back(suspicion + ": " + rows.Text(row, "message"));
      continue;
    }
    for (size_t i = 0; i < report.stages.size() && i < kernels.size(); ++i) {
      if (!kernels[i].Is(kernel, rows.Number(row, "rank"), rows.Number(row, "device"))) continue;
      if (report.stages[i].issue.empty()) report.stages[i].issue = code;
      if (i == 0 && first_says.empty()) first_says = rows.Text(row, "message");
    }
    // A trace has a finding for each of many ranks.
    const bool is_new = causes.emplace(CauseOf(code), report.devices.empty() ? kernel : "").second;
    if (!is_new || report.opportunities.size() == kMostOpportunities) continue;
    std::string trigger = TriggerOf(rows.Text(row, "evidence"));
    if (trigger.empty()) trigger = "rule=" + code;  // a printed table has no metric of a rule
    report.opportunities.push_back({code, gain, std::move(trigger), rows.Text(row, "message"), rows.Text(row, "hint"),
                                    rows.Text(row, "source"), kernel.empty() ? kernel : ShortKernelName(kernel)});
  }
  const AnswerTable unasked = findings->table("not_evaluated");
  for (size_t row = 0; row < unasked.size(); ++row) {
    report.unasked.push_back({unasked.Text(row, "code"), unasked.Text(row, "missing")});
  }
  AddNotesOf(findings->answer, report);
  return first_says;
}

}  // namespace kprof
