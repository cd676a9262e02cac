#include "daemon/analysis/functions/comparison/compared_sides.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/neuron/device_profile.h"

namespace kprof {
namespace {

using Ranks = std::set<std::optional<int64_t>>;

std::vector<std::string> RunsOf(const AnalysisTraces& traces) {
  std::vector<std::string> runs;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (std::find(runs.begin(), runs.end(), traces.run(part)) == runs.end()) runs.push_back(traces.run(part));
  }
  return runs;
}

// A run of the list by its id, or by a unique beginning of it. Fails with kUsage.
Result<std::string> FindRun(const std::vector<std::string>& runs, const std::string& name) {
  std::string found;
  for (const std::string& run : runs) {
    if (run == name) return run;
    if (!run.starts_with(name)) continue;
    if (!found.empty()) return Fail(ErrorCode::kUsage, "find the baseline", "several runs begin with '" + name + "'");
    found = run;
  }
  if (found.empty() || name.empty()) {
    return Fail(ErrorCode::kUsage, "find the baseline", "run '" + name + "' is not among those asked",
                "name it as a run of the question, too");
  }
  return found;
}

struct ChosenRuns {
  std::set<std::string> before;
  std::set<std::string> after;
};

// Nothing on a side: there is nothing to compare with.
Result<ChosenRuns> ChooseRuns(const AnalysisTraces& traces, const AnalysisOptions& options, AnalysisAnswer& answer) {
  ChosenRuns chosen;
  const std::vector<std::string> runs = RunsOf(traces);
  std::string_view names = options.text("baseline");
  if (names.empty() && runs.size() == 2) {
    const auto older = std::minmax(runs[0], runs[1]);  // ids sort by time
    chosen.before.insert(older.first);
    chosen.after.insert(older.second);
    answer.AddNote("the baseline is the older run, " + older.first);
    return chosen;
  }
  while (!names.empty()) {
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    ASSIGN_OR_RETURN(std::string run, FindRun(runs, name));
    chosen.before.insert(std::move(run));
  }
  for (const std::string& run : runs) {
    if (!chosen.before.contains(run)) chosen.after.insert(run);
  }
  if (chosen.before.empty()) chosen.after.clear();
  if (!chosen.before.empty() && chosen.after.empty()) chosen.after = chosen.before;  // a run with itself
  return chosen;
}

Ranks RanksOf(const AnalysisTraces& traces, const std::set<std::string>& runs) {
  Ranks ranks;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    // The part `samples` of a watched device has no slices; nor has a device profile of counters alone.
    const TracePart& of = traces.parts()[part];
    const bool has_events = of.reader->rows(EventKind::kSlice) > 0 || IsDeviceProfile(of);
    if (!runs.contains(traces.run(part)) || !has_events) continue;
    ranks.insert(traces.parts()[part].rank);
  }
  return ranks;
}

bool HasReportsAlone(const AnalysisTraces& traces, const std::set<std::string>& runs) {
  bool has_report = false;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (!runs.contains(traces.run(part))) continue;
    if (traces.parts()[part].reader->rows(EventKind::kSlice) > 0) return false;
    has_report |= KernelReports::HasReport(traces.parts()[part]);
  }
  return has_report;
}

AnalysisTraces TracesOf(const AnalysisTraces& traces, const std::set<std::string>& of_runs, const Ranks& ranks) {
  std::vector<TracePart> parts;
  std::vector<std::string> runs;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (!of_runs.contains(traces.run(part)) || !ranks.contains(traces.parts()[part].rank)) continue;
    parts.push_back(traces.parts()[part]);
    runs.push_back(traces.run(part));
  }
  return {parts, runs, traces.take_memory()};
}

std::string RanksText(const Ranks& ranks) {
  constexpr size_t kMostNamed = 16;
  std::string text;
  size_t named = 0;
  for (const std::optional<int64_t> rank : ranks) {
    if (named++ == kMostNamed) return text + ", ... (" + std::to_string(ranks.size()) + ")";
    text += (text.empty() ? "" : ", ") + (rank ? std::to_string(*rank) : std::string("unknown"));
  }
  return text;
}

std::set<int64_t> DevicesThere(const AnalysisTraces& traces) {
  std::set<int64_t> devices;
  for (const TracePart& part : traces.parts()) {
    for (const TrackRow& track : part.reader->tracks()) {
      if (track.device) devices.insert(*track.device);
    }
  }
  return devices;
}

// The options for the baseline, whose device may have another number.
AnalysisOptions BaselineOptions(const AnalysisOptions& options, const AnalysisTraces& baseline,
                                AnalysisAnswer& answer) {
  if (const std::optional<int64_t> device = options.integer("baseline-device")) {
    return options.With("device", std::to_string(*device));
  }
  const std::optional<int64_t> device = options.integer("device");
  const std::set<int64_t> there = DevicesThere(baseline);
  if (!device || there.contains(*device) || there.size() != 1) return options;
  const std::string other = std::to_string(*there.begin());
  answer.AddNote("device " + std::to_string(*device) + " is compared with device " + other +
                 " of the baseline, the only one that it has");
  return options.With("device", other);
}

}  // namespace

Result<std::optional<OfSides<ComparedSide>>> ChooseSides(const AnalysisTraces& traces, const AnalysisOptions& options,
                                                         AnalysisAnswer& answer) {
  ASSIGN_OR_RETURN(const ChosenRuns chosen, ChooseRuns(traces, options, answer));
  if (chosen.before.empty() || chosen.after.empty()) return std::optional<OfSides<ComparedSide>>();
  OfSides<Ranks> ranks = {RanksOf(traces, chosen.before), RanksOf(traces, chosen.after)};
  const OfSides<std::string> texts = {RanksText(ranks[kBefore]), RanksText(ranks[kAfter])};
  Ranks common;
  std::set_intersection(ranks[kBefore].begin(), ranks[kBefore].end(), ranks[kAfter].begin(), ranks[kAfter].end(),
                        std::inserter(common, common.end()));
  if (!common.empty() && ranks[kBefore] != ranks[kAfter]) {
    answer.AddNote("only the ranks that both sides have are compared: " + RanksText(common));
    ranks = {common, common};
  }
  const auto side_of = [&traces](AnalysisTraces of, AnalysisOptions with, const std::set<std::string>& runs,
                                 const std::string& text) {
    return ComparedSide{std::move(of), std::move(with), static_cast<int64_t>(runs.size()), text,
                        HasReportsAlone(traces, runs)};
  };
  AnalysisTraces before = TracesOf(traces, chosen.before, ranks[kBefore]);
  AnalysisOptions baseline = BaselineOptions(options, before, answer);
  return std::optional(OfSides<ComparedSide>{
      side_of(std::move(before), std::move(baseline), chosen.before, texts[kBefore]),
      side_of(TracesOf(traces, chosen.after, ranks[kAfter]), options, chosen.after, texts[kAfter])});
}

}  // namespace kprof
