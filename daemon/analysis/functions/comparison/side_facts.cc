#include "daemon/analysis/functions/comparison/side_facts.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/analysis/functions/comparison/comparable_names.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/device_times.h"
#include "daemon/analysis/functions/slice_args.h"
#include "daemon/analysis/operators/aggregate.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"

namespace kprof {
namespace {

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

int64_t OperatorCallsOf(const CallPlaces& places) {
  int64_t calls = 0;
  for (const CallPlace& node : places.nodes()) calls += node.role == CallRole::kOperator ? node.calls : 0;
  return calls;
}

}  // namespace

Result<SideFacts> ReadSide(const ComparedSide& side, const StopSignal& stop, MemoryCharge& charge, CallPlaces& places) {
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(side.traces, side.options, stop));
  SideFacts facts;
  facts.runs = side.runs;
  const int64_t runs = facts.runs;
  AnalysisAnswer unused(side.traces);
  ASSIGN_OR_RETURN(const std::vector<DeviceTimes> times, FindDeviceTimes(side.traces, side.options, stop, unused));
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
  for (size_t part = 0; part < side.traces.parts().size(); ++part) {
    if (!scope.never(part)) RETURN_IF_ERROR(places.Add(side.traces, part, scope, stop));
  }
  facts.operators = OperatorCallsOf(places) / runs;
  return facts;
}

ShapeChanges CompareShapes(const OfSides<SideFacts>& sides) {
  const auto only_of = [](const std::set<std::string>& in, const std::set<std::string>& not_in) {
    const auto one =
        std::find_if(in.begin(), in.end(), [&](const std::string& shape) { return !not_in.contains(shape); });
    return one == in.end() ? std::string() : " " + *one;
  };
  ShapeChanges changes;
  for (const auto& [name, shapes] : sides[kBefore].shapes) {
    const auto other = sides[kAfter].shapes.find(name);
    if (other == sides[kAfter].shapes.end()) continue;
    ++changes.compared;
    if (other->second == shapes) continue;
    if (changes.differing++ > 0) continue;
    const std::string was = only_of(shapes, other->second);
    const std::string is = only_of(other->second, shapes);
    changes.example =
        name + (was.empty() ? ", now also" : was) + (is.empty() ? ", no longer" : (was.empty() ? "" : ", now")) + is;
  }
  return changes;
}

}  // namespace kprof
