#include "daemon/analysis/functions/launches/launch_contexts.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/slice_columns.h"

namespace kprof {
namespace {

constexpr std::string_view kModuleNames = "nn.Module: ";

// An operator or a module.
struct Around {
  uint32_t track = 0;
  bool is_module = false;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t name = 0;
};

EventFilter OperatorsOfHost() {
  EventFilter filter;
  filter.accepts_category = [](std::string_view category) { return category == "cpu_op" || category == "Operator"; };
  return filter;
}

// The names that emit_nvtx writes.
EventFilter OperatorRangesOfHost() {
  EventFilter filter;
  filter.categories = {"nvtx", "user_annotation"};
  filter.accepts_name = [](std::string_view name) { return NameOfCall(name).size() < name.size(); };
  return filter;
}

EventFilter ModulesOfHost() {
  EventFilter filter;
  filter.categories = {"python_function"};
  filter.accepts_name = [](std::string_view name) { return name.starts_with(kModuleNames); };
  return filter;
}

Status AddAround(const TracePart& part, const EventFilter& filter, bool is_module, MemoryCharge& charge,
                 const StopSignal& stop, std::vector<Around>& found) {
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  SliceColumns slices(*part.reader);
  return bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(slices.Read(segment, selection));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(slices.size() * sizeof(Around))));
    for (size_t i = 0; i < slices.size(); ++i) {
      found.push_back({slices.track(i), is_module, slices.begin_ns(i), slices.end_ns(i), slices.name(i)});
    }
    return OkStatus();
  });
}

}  // namespace

Result<std::vector<LaunchContext>> FindLaunchContexts(const TracePart& part, std::span<const PartSlice> calls,
                                                      const TakeMemory& take_memory, const StopSignal& stop) {
  MemoryCharge charge(take_memory);
  std::vector<Around> around;
  RETURN_IF_ERROR(AddAround(part, OperatorsOfHost(), false, charge, stop, around));
  RETURN_IF_ERROR(AddAround(part, OperatorRangesOfHost(), false, charge, stop, around));
  RETURN_IF_ERROR(AddAround(part, ModulesOfHost(), true, charge, stop, around));
  std::sort(around.begin(), around.end(), [](const Around& a, const Around& b) {
    return std::tie(a.track, a.begin_ns, b.end_ns, b.is_module) < std::tie(b.track, b.begin_ns, a.end_ns, a.is_module);
  });
  std::vector<size_t> order(calls.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(calls[a].track, calls[a].begin_ns) < std::tie(calls[b].track, calls[b].begin_ns);
  });
  std::vector<LaunchContext> contexts(calls.size());
  std::vector<const Around*> open;
  size_t next = 0;
  for (const size_t at : order) {
    const PartSlice& call = calls[at];
    while (next < around.size() &&
           std::tie(around[next].track, around[next].begin_ns) <= std::tie(call.track, call.begin_ns)) {
      const Around& one = around[next++];
      while (!open.empty() && (open.back()->track != one.track || open.back()->end_ns <= one.begin_ns)) open.pop_back();
      open.push_back(&one);
    }
    while (!open.empty() && (open.back()->track != call.track || open.back()->end_ns <= call.begin_ns)) open.pop_back();
    LaunchContext& context = contexts[at];
    for (auto one = open.rbegin(); one != open.rend(); ++one) {
      std::optional<int64_t>& name = (*one)->is_module ? context.module_name : context.operator_name;
      const bool is_around = (*one)->end_ns > call.begin_ns;
      if (is_around && !name) name = (*one)->name;
      if (context.module_name && context.operator_name) break;
    }
  }
  return contexts;
}

}  // namespace kprof
