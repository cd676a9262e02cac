// Two sides of runs compared: totals, steps, kernels, operators. Docs: docs/analyses/compare.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/comparison/call_places.h"
#include "daemon/analysis/functions/comparison/comparable_names.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/device_times.h"
#include "daemon/analysis/functions/slice_args.h"
#include "daemon/analysis/operators/aggregate.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "storage/trace_sql/tables/strict_json.h"

namespace kprof {
namespace {

enum CompareTable : size_t { kKernelChanges, kTotals, kStepChanges, kOperatorChanges, kWorkload };

constexpr AnalysisOption kBaselineOption[] = {
    {.name = "baseline",
     .type = AnalysisType::kText,
     .meaning = "The run or runs to compare with, with commas between; without it: of two runs the older one",
     .names_runs = true},
    {.name = "baseline-device",
     .meaning = "The device of the baseline; without it the one of option device, or the only one that it has",
     .least = 0},
};

std::string QuotedJson(std::string_view text) {
  std::string json;
  AppendStrictText(text, json);
  return json;
}

// The two sides of a comparison.
enum Side : size_t { kBefore, kAfter, kSides };
template <typename T>
using OfSides = std::array<T, kSides>;

// The time of something on one side, per run.
struct SideSum {
  int64_t count = 0;
  int64_t ns = 0;

  void Add(const SideSum& other) {
    count += other.count;
    ns = SaturatingSum(ns, other.ns);
  }
  AnalysisValue mean_ns() const {
    return count == 0 ? AnalysisValue() : AnalysisValue(static_cast<double>(ns) / static_cast<double>(count));
  }
};

// Which part of a change is of more or fewer calls, at the old time for each, and which of slower or faster calls.
struct ChangeParts {
  AnalysisValue by_count_ns;
  AnalysisValue by_call_ns;
};

ChangeParts PartsOfChange(const OfSides<SideSum>& sums) {
  if (sums[kBefore].count == 0 || sums[kAfter].count == 0) return {};
  const double mean = static_cast<double>(sums[kBefore].ns) / static_cast<double>(sums[kBefore].count);
  const double by_count = mean * static_cast<double>(sums[kAfter].count - sums[kBefore].count);
  return {by_count, static_cast<double>(sums[kAfter].ns - sums[kBefore].ns) - by_count};
}

const char* StatusOf(bool was, bool is, int64_t delta_ns, int64_t delta_count) {
  if (!was) return "added";
  if (!is) return "removed";
  return delta_ns == 0 && delta_count == 0 ? "same" : "changed";
}

// The parts of a side, of ranks that both have.
struct ComparedSide {
  AnalysisTraces traces;
  std::vector<std::string> runs;
};

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

std::set<std::optional<int64_t>> RanksOf(const AnalysisTraces& traces, const std::set<std::string>& runs) {
  std::set<std::optional<int64_t>> ranks;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    // The part `samples` of a watched device has no slices.
    if (!runs.contains(traces.run(part)) || traces.parts()[part].reader->rows(EventKind::kSlice) == 0) continue;
    ranks.insert(traces.parts()[part].rank);
  }
  return ranks;
}

ComparedSide SideOf(const AnalysisTraces& traces, const std::set<std::string>& of_runs,
                    const std::set<std::optional<int64_t>>& ranks) {
  std::vector<TracePart> parts;
  std::vector<std::string> runs;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (!of_runs.contains(traces.run(part)) || !ranks.contains(traces.parts()[part].rank)) continue;
    parts.push_back(traces.parts()[part]);
    runs.push_back(traces.run(part));
  }
  return {AnalysisTraces(parts, runs, traces.take_memory()), {of_runs.begin(), of_runs.end()}};
}

std::string RanksText(const std::set<std::optional<int64_t>>& ranks) {
  constexpr size_t kMostNamed = 16;
  std::string text;
  size_t named = 0;
  for (const std::optional<int64_t> rank : ranks) {
    if (named++ == kMostNamed) return text + ", ... (" + std::to_string(ranks.size()) + ")";
    text += (text.empty() ? "" : ", ") + (rank ? std::to_string(*rank) : std::string("unknown"));
  }
  return text;
}

// A side as it is read; sums are per run.
struct SideFacts {
  int64_t total_ns = 0;  // of the longest part
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
  std::array<int64_t, kKernelTypes> of_type_ns{};
  std::map<int64_t, SideSum> steps;  // by number: of all ranks and runs
  std::map<std::string, SideSum> kernels;
  SideSum all_kernels;
  std::set<std::string> devices;
  std::map<std::string, std::set<std::string>> shapes;  // of operators
  int64_t operators = 0;                                // how often they were called
  int64_t runs = 1;
};

// Names of devices in the list that PyTorch writes: "name":"NVIDIA H100".
void AddDeviceNames(const PartReader& reader, std::set<std::string>& names) {
  const std::optional<std::string> list = reader.TextFact("source.deviceProperties");
  constexpr std::string_view kName = "\"name\":";
  if (!list) return;
  for (size_t at = list->find(kName); at != std::string::npos; at = list->find(kName, at)) {
    at = list->find('"', at + kName.size());
    if (at == std::string::npos) return;
    const size_t end = list->find('"', ++at);
    if (end == std::string::npos) return;
    names.insert(list->substr(at, end - at));
    at = end;
  }
}

// Operators whose input shapes are recorded, each with all that it was called with.
Status AddShapes(const TracePart& part, const StopSignal& stop, MemoryCharge& charge, SideFacts& facts) {
  PartReader& reader = *part.reader;
  ASSIGN_OR_RETURN(SliceArgs args, SliceArgs::Find(reader, {"Input Dims", "Input dims"}));
  if (args.never()) return OkStatus();
  EventFilter filter;
  filter.categories = {"cpu_op", "Operator"};
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  if (bound.never()) return OkStatus();
  std::set<std::pair<int64_t, int64_t>> seen;
  std::vector<int64_t> names;
  std::vector<std::vector<SliceArg>> values;
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kName, selection, names));
    RETURN_IF_ERROR(args.Read(segment, selection, values));
    for (size_t i = 0; i < names.size(); ++i) {
      const SliceArg& dims = values[0][i].is_text() ? values[0][i] : values[1][i];
      if (dims.is_text()) seen.emplace(names[i], dims.value);
    }
    return OkStatus();
  }));
  for (const auto& [name, dims] : seen) {
    ASSIGN_OR_RETURN(const std::string name_text, reader.ReadString(name));
    ASSIGN_OR_RETURN(std::string dims_text, reader.ReadString(dims));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(dims_text.size() + 64)));
    facts.shapes[HostCallName(name_text)].insert(std::move(dims_text));
  }
  return OkStatus();
}

Result<SideFacts> ReadSide(const ComparedSide& side, const AnalysisOptions& options, const DeviceScope& scope,
                           const StopSignal& stop, MemoryCharge& charge) {
  SideFacts facts;
  facts.runs = static_cast<int64_t>(side.runs.size());
  const int64_t runs = facts.runs;
  AnalysisAnswer unused(side.traces);
  ASSIGN_OR_RETURN(const std::vector<DeviceTimes> times, FindDeviceTimes(side.traces, options, stop, unused));
  for (const DeviceTimes& of : times) {
    facts.busy_ns = SaturatingSum(facts.busy_ns, of.busy_ns);
    facts.idle_ns = SaturatingSum(facts.idle_ns, of.whole_ns - of.busy_ns);
    for (size_t type = 0; type < kKernelTypes; ++type) {
      facts.of_type_ns[type] = SaturatingSum(facts.of_type_ns[type], of.of_type_ns[type]);
    }
  }
  facts.busy_ns /= runs;
  facts.idle_ns /= runs;
  for (int64_t& ns : facts.of_type_ns) ns /= runs;
  std::map<std::string, int64_t> longest;  // part of each run
  for (size_t part = 0; part < side.traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    const TracePart& of = side.traces.parts()[part];
    const Interval whole = scope.WholeOf(part);
    int64_t& most = longest[side.traces.run(part)];
    most = std::max(most, whole.end_ns - whole.begin_ns);
    ASSIGN_OR_RETURN(const std::vector<ProfilerStep> steps, FindProfilerSteps(of, stop));
    for (const ProfilerStep& step : steps) {
      const bool is_whole = step.begin_ns >= scope.from_ns(part).value_or(kFirstTimeNs) &&
                            step.end_ns <= scope.to_ns(part).value_or(kLastTimeNs);
      if (is_whole) facts.steps[step.number].Add({1, step.end_ns - step.begin_ns});
    }
    AddDeviceNames(*of.reader, facts.devices);
    RETURN_IF_ERROR(AddShapes(of, stop, charge, facts));
    AggregateRequest request{
        .filter = scope.WorkOf(part), .by = {GroupBy::kName}, .take_memory = side.traces.take_memory()};
    ASSIGN_OR_RETURN(const std::vector<Aggregate> kernels,
                     AggregateEvents(side.traces.parts().subspan(part, 1), request, stop));
    for (const Aggregate& kernel : kernels) {
      const auto& name = std::get<std::string>(kernel.key.front());
      if (!facts.kernels.contains(name)) RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(name.size() + 128)));
      facts.kernels[name].Add({kernel.count, kernel.sum_ns});
    }
  }
  for (const auto& [run, most] : longest) facts.total_ns += most / runs;
  for (auto& [name, sum] : facts.kernels) {
    sum.count /= runs;
    sum.ns /= runs;
    facts.all_kernels.Add(sum);
  }
  return facts;
}

int64_t OperatorCallsOf(const CallPlaces& places) {
  int64_t calls = 0;
  for (const CallPlace& node : places.nodes()) calls += node.role == CallRole::kOperator ? node.calls : 0;
  return calls;
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

SideSum StepSumOf(const SideFacts& facts) {
  SideSum sum;
  for (const auto& [number, step] : facts.steps) sum.Add(step);
  return sum;
}

std::optional<int64_t> MeanOf(const SideSum& sum) {
  if (sum.count == 0) return std::nullopt;
  return sum.ns / sum.count;
}

// Kernels of both sides under one name.
struct KernelRow {
  std::string matched_by;  // name, spelling, template
  OfSides<SideSum> sums;
  OfSides<std::vector<std::string>> names;  // the one with the most time first

  int64_t delta_ns() const { return sums[kAfter].ns - sums[kBefore].ns; }
};

class KernelMatcher {
 public:
  explicit KernelMatcher(const OfSides<SideFacts>& sides) : sides_(sides) {
    for (const Side side : {kBefore, kAfter}) {
      for (const auto& [name, sum] : sides[side].kernels) left_[side].insert(name);
    }
  }

  std::vector<KernelRow> Match() {
    MatchBy("name", [](const std::string& name) { return name; });
    MatchBy("spelling", [](const std::string& name) { return PlainKernelName(name); });
    MatchBy("template", [](const std::string& name) { return KernelFamilyName(name); });
    for (const Side side : {kBefore, kAfter}) {
      std::map<std::string, std::vector<std::string>> alone;
      for (const std::string& name : left_[side]) alone[PlainKernelName(name)].push_back(name);
      for (auto& [key, names] : alone) {
        KernelRow row;
        Take(side, std::move(names), row);
        rows_.push_back(std::move(row));
      }
    }
    std::stable_sort(rows_.begin(), rows_.end(), [](const KernelRow& a, const KernelRow& b) {
      return std::abs(a.delta_ns()) > std::abs(b.delta_ns());
    });
    return std::move(rows_);
  }

 private:
  template <typename KeyOf>
  void MatchBy(const char* how, const KeyOf& key_of) {
    OfSides<std::map<std::string, std::vector<std::string>>> keys;
    for (const Side side : {kBefore, kAfter}) {
      for (const std::string& name : left_[side]) {
        std::string key = key_of(name);
        if (!key.empty()) keys[side][std::move(key)].push_back(name);
      }
    }
    for (auto& [key, names] : keys[kBefore]) {
      const auto other = keys[kAfter].find(key);
      if (other == keys[kAfter].end()) continue;
      KernelRow row{.matched_by = how};
      for (const std::string& name : names) left_[kBefore].erase(name);
      for (const std::string& name : other->second) left_[kAfter].erase(name);
      Take(kBefore, std::move(names), row);
      Take(kAfter, std::move(other->second), row);
      rows_.push_back(std::move(row));
    }
  }

  void Take(Side side, std::vector<std::string> names, KernelRow& row) const {
    const std::map<std::string, SideSum>& sums = sides_[side].kernels;
    for (const std::string& name : names) row.sums[side].Add(sums.at(name));
    std::stable_sort(names.begin(), names.end(),
                     [&sums](const std::string& a, const std::string& b) { return sums.at(a).ns > sums.at(b).ns; });
    row.names[side] = std::move(names);
  }

  const OfSides<SideFacts>& sides_;
  OfSides<std::set<std::string>> left_;
  std::vector<KernelRow> rows_;
};

// How often kernels that both sides have ran: the measure of how much of the same work is in each.
struct SharedWork {
  OfSides<int64_t> calls{};
  std::optional<double> ratio;  // of the calls now to those before: the median, each kernel with the weight of its time
};

SharedWork WorkInBoth(const std::vector<KernelRow>& rows) {
  SharedWork work;
  std::vector<std::pair<double, int64_t>> ratios;  // with weights
  int64_t all = 0;
  for (const KernelRow& row : rows) {
    if (row.matched_by != "name" && row.matched_by != "spelling") continue;
    for (const Side side : {kBefore, kAfter}) work.calls[side] += row.sums[side].count;
    if (row.sums[kBefore].count == 0) continue;  // of several runs, less than one of each
    const int64_t weight = SaturatingSum(row.sums[kBefore].ns, row.sums[kAfter].ns);
    ratios.emplace_back(static_cast<double>(row.sums[kAfter].count) / static_cast<double>(row.sums[kBefore].count),
                        weight);
    all = SaturatingSum(all, weight);
  }
  std::sort(ratios.begin(), ratios.end());
  int64_t passed = 0;
  for (const auto& [ratio, weight] : ratios) {
    passed = SaturatingSum(passed, weight);
    if (passed < all - passed) continue;
    work.ratio = ratio;
    break;
  }
  return work;
}

// The calls that one side alone has below a node that both have.
struct LoneCalls {
  std::string name;
  SideSum sum;
};

// A place in the call tree that both sides have, and where their times differ: its own work, and that of calls below
// it that one side alone has.
struct PlaceRow {
  std::string name;
  std::string path;
  OfSides<SideSum> sums;
  OfSides<int64_t> calls{};
  OfSides<std::vector<LoneCalls>> lone;

  int64_t delta_ns() const { return sums[kAfter].ns - sums[kBefore].ns; }
};

class PlaceMatcher {
 public:
  // By device time; by the host's own time where neither side has any.
  PlaceMatcher(const OfSides<const CallPlaces*>& sides, const TextNumbers& texts, const OfSides<int64_t>& runs,
               bool by_host)
      : texts_(texts), runs_(runs) {
    for (const Side side : {kBefore, kAfter}) {
      nodes_[side] = &sides[side]->nodes();
      const std::vector<CallPlace>& nodes = *nodes_[side];
      own_[side].resize(nodes.size());
      for (size_t i = 0; i < nodes.size(); ++i) {
        own_[side][i] = {nodes[i].kernels, nodes[i].device_ns};
        if (!by_host) continue;
        int64_t covered = 0;
        for (const uint32_t child : nodes[i].children) covered = SaturatingSum(covered, nodes[child].host_ns);
        own_[side][i] = {nodes[i].calls, std::max<int64_t>(nodes[i].host_ns - covered, 0)};
      }
      all_[side] = own_[side];  // and all below; children come after their parents
      for (size_t i = nodes.size(); i-- > 1;) all_[side][nodes[i].parent].Add(all_[side][i]);
    }
  }

  // `unlaunched`: work that no node of the host launched; it stands at the root.
  std::vector<PlaceRow> Match(const OfSides<SideSum>& unlaunched) {
    for (const Side side : {kBefore, kAfter}) own_[side][0].Add(unlaunched[side]);
    struct Pair {
      OfSides<uint32_t> nodes{};
      std::string path;
    };
    std::vector<Pair> open = {{}};
    while (!open.empty()) {
      const Pair pair = std::move(open.back());
      open.pop_back();
      PlaceRow row;
      row.path = pair.path;
      OfSides<std::map<uint32_t, uint32_t>> children;  // by label
      for (const Side side : {kBefore, kAfter}) {
        const CallPlace& node = (*nodes_[side])[pair.nodes[side]];
        row.name = pair.nodes[side] == 0 ? "" : texts_.TextOf(node.label);
        row.calls[side] = node.calls / runs_[side];
        row.sums[side].Add(own_[side][pair.nodes[side]]);
        for (const uint32_t child : node.children) children[side].emplace((*nodes_[side])[child].label, child);
      }
      LookThrough(children, row);
      for (const auto& [label, child] : children[kBefore]) {
        const auto other = children[kAfter].find(label);
        if (other == children[kAfter].end()) {
          AddLone(kBefore, child, row);
        } else {
          open.push_back({{child, other->second}, PathOf(pair.path, texts_.TextOf(label))});
        }
      }
      for (const auto& [label, child] : children[kAfter]) {
        if (!children[kBefore].contains(label)) AddLone(kAfter, child, row);
      }
      for (const Side side : {kBefore, kAfter}) {
        row.sums[side].count /= runs_[side];
        row.sums[side].ns /= runs_[side];
      }
      if (row.sums[kBefore].ns != 0 || row.sums[kAfter].ns != 0) rows_.push_back(std::move(row));
    }
    std::stable_sort(rows_.begin(), rows_.end(), [](const PlaceRow& a, const PlaceRow& b) {
      return std::make_tuple(-std::abs(a.delta_ns()), std::string_view(a.path)) <
             std::make_tuple(-std::abs(b.delta_ns()), std::string_view(b.path));
    });
    return std::move(rows_);
  }

 private:
  static constexpr size_t kLongestPath = 400;

  static std::string PathOf(const std::string& path, const std::string& name) {
    std::string longer = path.empty() ? name : path + " / " + name;
    if (longer.size() <= kLongestPath) return longer;
    const size_t cut = longer.find(" / ", longer.size() - kLongestPath);
    return "..." + (cut == std::string::npos ? " / " + name : longer.substr(cut));
  }

  // A call around others that one side alone has (a compiled module, an engine of a newer version) hides nothing: if
  // the other side has a child of it right here, its children take its place.
  void LookThrough(OfSides<std::map<uint32_t, uint32_t>>& children, PlaceRow& row) const {
    constexpr int kMostWrappers = 8;
    for (int pass = 0; pass < kMostWrappers; ++pass) {
      bool has_found = false;
      for (const Side side : {kBefore, kAfter}) {
        const Side other = side == kBefore ? kAfter : kBefore;
        for (auto at = children[side].begin(); at != children[side].end();) {
          const CallPlace& node = (*nodes_[side])[at->second];
          const bool is_lone = !children[other].contains(at->first);
          const bool has_known =
              is_lone && std::any_of(node.children.begin(), node.children.end(), [&](uint32_t child) {
                const uint32_t label = (*nodes_[side])[child].label;
                return children[other].contains(label) && !children[side].contains(label);
              });
          if (!has_known) {
            ++at;
            continue;
          }
          row.sums[side].Add(own_[side][at->second]);
          for (const uint32_t child : node.children) {
            // One that is there already stays by itself.
            if (!children[side].emplace((*nodes_[side])[child].label, child).second) AddLone(side, child, row);
          }
          at = children[side].erase(at);
          has_found = true;
        }
      }
      if (!has_found) return;
    }
  }

  void AddLone(Side side, uint32_t node, PlaceRow& row) const {
    const SideSum& sum = all_[side][node];
    if (sum.ns == 0) return;
    row.sums[side].Add(sum);
    row.lone[side].push_back({texts_.TextOf((*nodes_[side])[node].label), sum});
  }

  const TextNumbers& texts_;
  const OfSides<int64_t> runs_;
  OfSides<const std::vector<CallPlace>*> nodes_{};
  OfSides<std::vector<SideSum>> own_;
  OfSides<std::vector<SideSum>> all_;
  std::vector<PlaceRow> rows_;
};

// The answer, once both sides are read.
class Comparison {
 public:
  // `is_cut`: a stretch of time was asked for, so that the totals are its length.
  Comparison(const OfSides<SideFacts>& sides, bool is_cut, AnalysisAnswer& answer)
      : sides_(sides),
        is_cut_(is_cut),
        answer_(answer),
        kernels_(KernelMatcher(sides).Match()),
        shared_(WorkInBoth(kernels_)) {}

  Status AddWorkload(const OfSides<std::string>& ranks) {
    const auto joined = [](const std::set<std::string>& names) {
      std::string text;
      for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
      return text;
    };
    const auto number = [](int64_t value) { return std::to_string(value); };
    RETURN_IF_ERROR(AddWork("runs", number(before().runs), number(after().runs), false));
    RETURN_IF_ERROR(AddWork("ranks", ranks[kBefore], ranks[kAfter], true));
    RETURN_IF_ERROR(AddWork("devices", joined(before().devices), joined(after().devices), true));
    RETURN_IF_ERROR(AddWork("steps", number(static_cast<int64_t>(before().steps.size())),
                            number(static_cast<int64_t>(after().steps.size())), true));
    RETURN_IF_ERROR(AddWork("operator calls", number(before().operators), number(after().operators), false));
    RETURN_IF_ERROR(AddWork("kernels", number(before().all_kernels.count), number(after().all_kernels.count), false));
    RETURN_IF_ERROR(
        AddWork("kernels that both have", number(shared_.calls[kBefore]), number(shared_.calls[kAfter]), false));
    if (HasOtherAmount()) {
      AddDifference("the amount of work", "kernels that both have ran " + number(shared_.calls[kBefore]) +
                                              " times, now " + number(shared_.calls[kAfter]) + ": " +
                                              TimesText(*shared_.ratio) +
                                              " times as often, on the median by their time");
    }
    return AddShapeWork();
  }

  Status AddTotals() {
    RETURN_IF_ERROR(AddTotal("total", before().total_ns, after().total_ns));
    const std::optional<int64_t> step_before = MeanOf(StepSumOf(before()));
    const std::optional<int64_t> step_after = MeanOf(StepSumOf(after()));
    if (step_before && step_after) RETURN_IF_ERROR(AddTotal("step", *step_before, *step_after));
    RETURN_IF_ERROR(AddTotal("device busy", before().busy_ns, after().busy_ns));
    RETURN_IF_ERROR(AddTotal("device idle", before().idle_ns, after().idle_ns));
    for (size_t type = 0; type < kKernelTypes; ++type) {
      RETURN_IF_ERROR(AddTotal(std::string(KernelTypeName(static_cast<KernelType>(type))), before().of_type_ns[type],
                               after().of_type_ns[type]));
    }
    return AddTotal("kernels", before().all_kernels.ns, after().all_kernels.ns);
  }

  // In their order: the first with the first. Means over ranks and runs.
  Status AddSteps() {
    auto a = before().steps.begin();
    auto b = after().steps.begin();
    for (; a != before().steps.end() && b != after().steps.end(); ++a, ++b) {
      const int64_t from = *MeanOf(a->second);
      const int64_t to = *MeanOf(b->second);
      RETURN_IF_ERROR(
          answer_.AddRow(kStepChanges, {a->first, b->first, from, to, to - from, PercentOf(to - from, from)}));
    }
    return OkStatus();
  }

  Status AddKernels(const OfSides<const CallPlaces*>& contexts) {
    for (const KernelRow& row : kernels_) {
      const bool was = !row.names[kBefore].empty();
      const bool is = !row.names[kAfter].empty();
      const std::string& name = (is ? row.names[kAfter] : row.names[kBefore]).front();
      const int64_t delta_count = row.sums[kAfter].count - row.sums[kBefore].count;
      const ChangeParts parts = PartsOfChange(row.sums);
      const std::string launcher = contexts[is ? kAfter : kBefore]->LauncherOf(name);
      const bool has_other_name = was && is && row.names[kBefore].front() != name;
      RETURN_IF_ERROR(answer_.AddRow(
          kKernelChanges,
          {name, row.sums[kBefore].ns, row.sums[kAfter].ns, row.delta_ns(),
           PercentOf(row.delta_ns(), row.sums[kBefore].ns), PercentOf(row.delta_ns(), before().all_kernels.ns),
           std::string(StatusOf(was, is, row.delta_ns(), delta_count)),
           row.matched_by.empty() ? AnalysisValue() : AnalysisValue(row.matched_by), row.sums[kBefore].count,
           row.sums[kAfter].count, row.sums[kBefore].mean_ns(), row.sums[kAfter].mean_ns(), parts.by_count_ns,
           parts.by_call_ns, std::string(KernelTypeName(TypeOfKernel(name))),
           launcher.empty() ? AnalysisValue() : AnalysisValue(launcher),
           has_other_name ? AnalysisValue(row.names[kBefore].front()) : AnalysisValue(),
           static_cast<int64_t>(row.names[kBefore].size()), static_cast<int64_t>(row.names[kAfter].size())}));
    }
    return OkStatus();
  }

  Status AddOperators(const OfSides<const CallPlaces*>& contexts, const TextNumbers& texts) {
    OfSides<SideSum> unlaunched;
    bool has_contexts = false;
    for (const Side side : {kBefore, kAfter}) {
      SideSum launched;
      for (const CallPlace& node : contexts[side]->nodes()) launched.Add({node.kernels, node.device_ns});
      has_contexts |= contexts[side]->nodes().size() > 1;
      const int64_t runs = sides_[side].runs;
      unlaunched[side] = {std::max<int64_t>(sides_[side].all_kernels.count * runs - launched.count, 0),
                          std::max<int64_t>(sides_[side].all_kernels.ns * runs - launched.ns, 0)};
    }
    if (!has_contexts) {
      answer_.AddNote("no operators: neither side has operators, modules or annotations of the host");
      return OkStatus();
    }
    const bool by_host = before().all_kernels.count == 0 && after().all_kernels.count == 0;
    if (by_host) answer_.AddNote("no kernels on either side: operators are compared by the host's time");
    const int64_t whole = by_host ? before().total_ns : before().all_kernels.ns;
    PlaceMatcher matcher(contexts, texts, {before().runs, after().runs}, by_host);
    for (const PlaceRow& row : matcher.Match(unlaunched)) {
      const ChangeParts parts = PartsOfChange(
          {SideSum{row.calls[kBefore], row.sums[kBefore].ns}, SideSum{row.calls[kAfter], row.sums[kAfter].ns}});
      const bool is_added = row.sums[kBefore].ns == 0 && row.calls[kBefore] == 0;
      const bool is_removed = row.sums[kAfter].ns == 0 && row.calls[kAfter] == 0;
      RETURN_IF_ERROR(answer_.AddRow(
          kOperatorChanges,
          {row.name.empty() ? AnalysisValue() : AnalysisValue(row.name), row.path, row.sums[kBefore].ns,
           row.sums[kAfter].ns, row.delta_ns(), PercentOf(row.delta_ns(), row.sums[kBefore].ns),
           PercentOf(row.delta_ns(), whole),
           std::string(StatusOf(!is_added, !is_removed, row.delta_ns(), row.calls[kAfter] - row.calls[kBefore])),
           row.calls[kBefore], row.calls[kAfter], row.sums[kBefore].count, row.sums[kAfter].count, parts.by_count_ns,
           parts.by_call_ns, JsonOf(row.lone[kBefore], before().runs), JsonOf(row.lone[kAfter], after().runs)}));
    }
    return OkStatus();
  }

  void SetFacts() {
    const std::optional<int64_t> step_before = MeanOf(StepSumOf(before()));
    const std::optional<int64_t> step_after = MeanOf(StepSumOf(after()));
    const bool by_step = HasSteps();
    const int64_t from = by_step ? *step_before : before().total_ns;
    const int64_t to = by_step ? *step_after : after().total_ns;
    AnalysisValue ratio;
    if (from > 0 && to > 0 && (by_step || (!is_cut_ && !HasOtherAmount()))) {
      ratio = static_cast<double>(to) / static_cast<double>(from);
    } else if (from > 0 && to > 0) {
      AddNoteOfNoRatio();
    }
    answer_.SetFacts({std::string("INCONCLUSIVE"), ratio, AnalysisValue(), AnalysisValue(),
                      std::string("[\"too_few_samples\"]"), differences_.empty() ? "[]" : differences_ + "]",
                      ratio.index() == 0 ? AnalysisValue() : AnalysisValue(std::string(by_step ? "step" : "total")),
                      before().total_ns, after().total_ns, ValueOf(step_before), ValueOf(step_after),
                      before().all_kernels.ns, after().all_kernels.ns});
  }

 private:
  const SideFacts& before() const { return sides_[kBefore]; }
  const SideFacts& after() const { return sides_[kAfter]; }
  bool HasSteps() const { return !before().steps.empty() && !after().steps.empty(); }

  // Steps are units of work. Without them, totals compare only if both traces have the same amount of it.
  bool HasOtherAmount() const {
    constexpr double kSameAmount = 0.01;
    return !HasSteps() && shared_.ratio && std::abs(*shared_.ratio - 1) > kSameAmount;
  }

  static std::string TimesText(double times) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.3g", times);
    return text;
  }

  void AddNoteOfNoRatio() {
    const double ratio = static_cast<double>(after().total_ns) / static_cast<double>(before().total_ns);
    const bool has_amount = shared_.ratio && *shared_.ratio > 0;
    answer_.AddNote(std::string("no ratio: ") +
                    (is_cut_ ? "the totals are the time that was asked for, and no steps lie within it on both sides"
                             : "the totals are of different amounts of work, and there are no steps on both sides") +
                    (has_amount ? "; by the kernels that both have, the same work takes " +
                                      TimesText(ratio / *shared_.ratio) + " times as long"
                                : ""));
  }

  Status AddWork(const std::string& what, const std::string& from, const std::string& to, bool is_workload) {
    if (is_workload && from != to && !from.empty() && !to.empty()) AddDifference(what, from + ", now " + to);
    return answer_.AddRow(kWorkload, {what, from.empty() ? AnalysisValue() : AnalysisValue(from),
                                      to.empty() ? AnalysisValue() : AnalysisValue(to), int64_t{from != to ? 1 : 0}});
  }

  void AddDifference(const std::string& what, const std::string& how) {
    const std::string text = "the workload differs in " + what + ": " + how;
    answer_.AddNote(text);
    differences_ += (differences_.empty() ? "[" : ",") + QuotedJson(text);
  }

  // Operators that both have, with other shapes.
  Status AddShapeWork() {
    int64_t compared = 0;
    int64_t differing = 0;
    std::string example;
    for (const auto& [name, shapes] : before().shapes) {
      const auto other = after().shapes.find(name);
      if (other == after().shapes.end()) continue;
      ++compared;
      if (other->second == shapes) continue;
      if (differing++ > 0) continue;
      const auto only_of = [](const std::set<std::string>& in, const std::set<std::string>& not_in) {
        const auto one =
            std::find_if(in.begin(), in.end(), [&](const std::string& shape) { return !not_in.contains(shape); });
        return one == in.end() ? std::string() : " " + *one;
      };
      const std::string was = only_of(shapes, other->second);
      const std::string is = only_of(other->second, shapes);
      example =
          name + (was.empty() ? ", now also" : was) + (is.empty() ? ", no longer" : (was.empty() ? "" : ", now")) + is;
    }
    if (compared == 0) return OkStatus();
    if (differing > 0) {
      AddDifference("input shapes", std::to_string(differing) + " of " + std::to_string(compared) +
                                        " operators have others, as " + example);
    }
    return answer_.AddRow(kWorkload, {std::string("operators with other input shapes"), std::string("0"),
                                      std::to_string(differing), int64_t{differing > 0 ? 1 : 0}});
  }

  Status AddTotal(const std::string& what, int64_t from, int64_t to) {
    return answer_.AddRow(kTotals, {what, from, to, to - from, PercentOf(to - from, from)});
  }

  static AnalysisValue JsonOf(const std::vector<LoneCalls>& lone, int64_t runs) {
    constexpr size_t kMostListed = 10;
    std::vector<LoneCalls> sorted = lone;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const LoneCalls& a, const LoneCalls& b) { return a.sum.ns > b.sum.ns; });
    std::string text = "[";
    for (size_t i = 0; i < std::min(sorted.size(), kMostListed); ++i) {
      text += (i == 0 ? "" : ",") + std::string("{\"name\":") + QuotedJson(sorted[i].name) +
              ",\"ns\":" + std::to_string(sorted[i].sum.ns / runs) + "}";
    }
    return text + "]";
  }

  const OfSides<SideFacts>& sides_;
  const bool is_cut_;
  AnalysisAnswer& answer_;
  const std::vector<KernelRow> kernels_;
  const SharedWork shared_;
  std::string differences_;  // an open list of JSON
};

AnalysisAnswer::Row NoFacts(const char* reason) {
  const AnalysisValue none;
  return {std::string("INCONCLUSIVE"),
          none,
          none,
          none,
          "[\"" + std::string(reason) + "\"]",
          std::string("[]"),
          none,
          none,
          none,
          none,
          none,
          none,
          none};
}

Result<AnalysisAnswer> AnswerCompare(const AnalysisTraces& traces, const AnalysisOptions& options,
                                     const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  RETURN_IF_ERROR(StillWanted(stop));
  ASSIGN_OR_RETURN(const ChosenRuns chosen, ChooseRuns(traces, options, answer));
  if (chosen.before.empty() || chosen.after.empty()) {
    answer.AddNote("nothing to compare with: give option baseline, or two runs");
    answer.SetFacts(NoFacts("no_baseline"));
    return answer;
  }
  OfSides<std::set<std::optional<int64_t>>> ranks = {RanksOf(traces, chosen.before), RanksOf(traces, chosen.after)};
  const OfSides<std::string> ranks_text = {RanksText(ranks[kBefore]), RanksText(ranks[kAfter])};
  std::set<std::optional<int64_t>> common;
  std::set_intersection(ranks[kBefore].begin(), ranks[kBefore].end(), ranks[kAfter].begin(), ranks[kAfter].end(),
                        std::inserter(common, common.end()));
  if (!common.empty() && ranks[kBefore] != ranks[kAfter]) {
    answer.AddNote("only the ranks that both sides have are compared: " + RanksText(common));
    ranks = {common, common};
  }
  const OfSides<ComparedSide> compared = {SideOf(traces, chosen.before, ranks[kBefore]),
                                          SideOf(traces, chosen.after, ranks[kAfter])};
  MemoryCharge charge(traces.take_memory());
  TextNumbers texts;
  OfSides<CallPlaces> contexts = {CallPlaces(texts, charge), CallPlaces(texts, charge)};
  OfSides<SideFacts> sides;
  for (const Side side : {kBefore, kAfter}) {
    const AnalysisTraces& of = compared[side].traces;
    const AnalysisOptions of_side = side == kBefore ? BaselineOptions(options, of, answer) : options;
    ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(of, of_side, stop));
    ASSIGN_OR_RETURN(sides[side], ReadSide(compared[side], of_side, scope, stop, charge));
    for (size_t part = 0; part < of.parts().size(); ++part) {
      if (!scope.never(part)) RETURN_IF_ERROR(contexts[side].Add(of, part, scope, stop));
    }
    sides[side].operators = OperatorCallsOf(contexts[side]) / sides[side].runs;
  }
  const OfSides<const CallPlaces*> trees = {&contexts[kBefore], &contexts[kAfter]};
  const bool is_cut = (options.integer("from") || options.integer("to")) && !options.integer("step");
  Comparison comparison(sides, is_cut, answer);
  RETURN_IF_ERROR(comparison.AddWorkload(ranks_text));
  RETURN_IF_ERROR(comparison.AddTotals());
  RETURN_IF_ERROR(comparison.AddSteps());
  RETURN_IF_ERROR(comparison.AddKernels(trees));
  RETURN_IF_ERROR(comparison.AddOperators(trees, texts));
  comparison.SetFacts();
  if (sides[kBefore].all_kernels.count == 0 || sides[kAfter].all_kernels.count == 0) {
    const bool is_before = sides[kBefore].all_kernels.count == 0;
    const bool are_both = is_before && sides[kAfter].all_kernels.count == 0;
    answer.AddNote(std::string("no kernels ") +
                   (are_both ? "on either side" : (is_before ? "in the baseline" : "in what is compared with it")));
  }
  return answer;
}

}  // namespace

AnalysisKind Compare() {
  using enum AnalysisType;
  return {
      .name = "compare",
      .version = 1,
      .question = "What changed since the baseline, by how much, and where?",
      .options = {kBaselineOption, kTraceScope},
      .facts = {{"verdict", kText, "", "FASTER, SLOWER, SAME or INCONCLUSIVE; a single trace is no sample of many"},
                {"ratio", kReal, "", "The time now to that of the baseline: below 1 is faster; null: of other work"},
                {"ci_low", kReal, "", "The interval of the ratio; null: too few samples"},
                {"ci_high", kReal, "", "Its upper end"},
                {"reasons", kJson, "", "Why the verdict is not one: too_few_samples, no_baseline"},
                {"differences", kJson, "", "In what the workloads differ: ranks, devices, steps, amount, shapes"},
                {"ratio_of", kText, "", "step: the mean of steps; total: no steps on both sides; null: no ratio"},
                {"before_total_ns", kInteger, "ns", "The baseline's trace, from its first slice to its last"},
                {"after_total_ns", kInteger, "ns", "The same now"},
                {"before_step_ns", kInteger, "ns", "The baseline's mean step; null: it has none"},
                {"after_step_ns", kInteger, "ns", "The same now"},
                {"before_kernels_ns", kInteger, "ns", "Of all work of the baseline's devices, added up"},
                {"after_kernels_ns", kInteger, "ns", "The same now"}},
      .tables =
          {{"kernels",
            {{"name", kText, "", "The kernel, or the copy; of several that match the one with the most time"},
             {"before_ns", kInteger, "ns", "In the baseline, added up; 0: it has none"},
             {"after_ns", kInteger, "ns", "Now"},
             {"delta_ns", kInteger, "ns", "after_ns without before_ns"},
             {"delta_percent", kReal, "percent", "delta_ns of before_ns; null: it is new"},
             {"contribution_percent", kReal, "percent", "delta_ns of all kernels of the baseline"},
             {"status", kText, "", "added, removed, changed, same"},
             {"matched_by", kText, "", "name, spelling (demangled), template (without numbers); null: not matched"},
             {"before_count", kInteger, "", "How often in the baseline"},
             {"after_count", kInteger, "", "How often now"},
             {"before_mean_ns", kReal, "ns", "Per call in the baseline"},
             {"after_mean_ns", kReal, "ns", "Per call now"},
             {"by_count_ns", kReal, "ns", "What of delta_ns more or fewer calls make, each as long as before"},
             {"by_call_ns", kReal, "ns", "What of delta_ns slower or faster calls make"},
             {"type", kText, "", "compute, communication or memory"},
             {"operator", kText, "", "The operator that launched the most of it; null: not known"},
             {"before_name", kText, "", "Its name in the baseline, where it is another"},
             {"before_names", kInteger, "", "How many names of the baseline this is"},
             {"after_names", kInteger, "", "How many names of now"}}},
           {"totals",
            {{"what", kText, "", "total, step, device busy and idle, compute, communication, memory, kernels"},
             {"before_ns", kInteger, "ns", "In the baseline"},
             {"after_ns", kInteger, "ns", "Now"},
             {"delta_ns", kInteger, "ns", "after_ns without before_ns"},
             {"delta_percent", kReal, "percent", "delta_ns of before_ns"}}},
           {"steps",
            {{"before_step", kInteger, "", "The number of the step in the baseline"},
             {"after_step", kInteger, "", "The number of the step that comes at its place now"},
             {"before_ns", kInteger, "ns", "How long it took, on average over ranks"},
             {"after_ns", kInteger, "ns", "Now"},
             {"delta_ns", kInteger, "ns", "after_ns without before_ns"},
             {"delta_percent", kReal, "percent", "delta_ns of before_ns"}}},
           {"operators",
            {{"name", kText, "", "The innermost operator, module or annotation that both have; null: outside of all"},
             {"path", kText, "", "Its place in the call tree"},
             {"before_ns", kInteger, "ns", "Device time of its own and of calls in it that one side alone has"},
             {"after_ns", kInteger, "ns", "Now"},
             {"delta_ns", kInteger, "ns", "after_ns without before_ns"},
             {"delta_percent", kReal, "percent", "delta_ns of before_ns"},
             {"contribution_percent", kReal, "percent", "delta_ns of all kernels of the baseline"},
             {"status", kText, "", "changed, same"},
             {"before_calls", kInteger, "", "How often it was called in the baseline"},
             {"after_calls", kInteger, "", "How often now"},
             {"before_kernels", kInteger, "", "How many kernels that was in the baseline"},
             {"after_kernels", kInteger, "", "How many now"},
             {"by_count_ns", kReal, "ns", "What of delta_ns more or fewer calls make"},
             {"by_call_ns", kReal, "ns", "What of delta_ns slower or faster calls make"},
             {"removed", kJson, "", "Calls in it that the baseline alone has, with their device time"},
             {"added", kJson, "", "Calls in it that are new"}}},
           {"workload",
            {{"what", kText, "", "ranks, devices, steps, calls, shapes"},
             {"before", kText, "", "In the baseline"},
             {"after", kText, "", "Now"},
             {"differs", kBoolean, "", "They are not the same"}}}},
      .answer = &AnswerCompare};
}

}  // namespace kprof
