// The memory of devices over time, as allocators tell it: its peak, what held it then, and what a step leaves behind.
// Docs: docs/analyses/memory.md.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/host/innermost_slices.h"
#include "daemon/analysis/functions/memory_events.h"
#include "daemon/analysis/functions/memory_levels.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

enum MemoryTable : size_t { kMemoryDevices, kHeld, kMemorySteps, kKept, kOverTime };
constexpr std::string_view kBeforeTrace = "(before the trace)";
constexpr std::string_view kModulePrefix = "nn.Module: ";

constexpr AnalysisOption kMemoryOptions[] = {
    {"points", AnalysisType::kInteger, "200", "", "At most so many rows of over_time for each device", "", 1},
};

bool IsOperatorCategory(std::string_view category) {
  return category == "cpu_op" || category == "Operator" || category == "operator";
}
bool IsFrameCategory(std::string_view category) {
  return category == "python_function";
}
// A frame that says nothing of the program.
bool IsInnerFrame(std::string_view name) {
  return name.starts_with("<built-in") || name.starts_with(kModulePrefix);
}

// The slices that allocate at a time of a thread, of three choices, innermost first.
class Allocators {
 public:
  static Result<Allocators> Read(const TracePart& part, const StopSignal& stop, MemoryCharge& charge) {
    Allocators made;
    EventFilter operators;
    operators.accepts_category = IsOperatorCategory;
    EventFilter ranges;  // PyTorch's emit_nvtx writes operators as those
    ranges.categories = {"nvtx"};
    ranges.accepts_name = [](std::string_view name) { return NameOfCall(name).size() < name.size(); };
    RETURN_IF_ERROR(ReadSlices(part, ranges, stop, charge, made.slices_[0]));
    EventFilter modules;
    modules.accepts_category = IsFrameCategory;
    modules.accepts_name = [](std::string_view name) { return name.starts_with(kModulePrefix); };
    EventFilter frames;
    frames.accepts_category = IsFrameCategory;
    frames.accepts_name = [](std::string_view name) { return !IsInnerFrame(name); };
    const EventFilter* filters[] = {&operators, &modules, &frames};
    for (size_t i = 0; i < made.slices_.size(); ++i) {
      RETURN_IF_ERROR(ReadSlices(part, *filters[i], stop, charge, made.slices_[i]));
      SortByTrack(made.slices_[i]);
    }
    return made;
  }

  void Find(std::vector<HeldMemory>& held) const {
    std::sort(held.begin(), held.end(), [](const HeldMemory& a, const HeldMemory& b) {
      return std::tie(a.track, a.time_ns) < std::tie(b.track, b.time_ns);
    });
    for (size_t i = 0; i < slices_.size(); ++i) {
      InnermostSlices innermost(slices_[i]);
      for (HeldMemory& one : held) {
        const InnermostSlices::Stretch found = innermost.At(one.track, one.time_ns);
        if (found.slice != nullptr) one.holders[i] = found.slice->name;
      }
    }
  }

 private:
  std::array<std::vector<PartSlice>, 3> slices_;
};

// A stretch of time of which is told what it left behind.
struct MemoryStep {
  std::optional<int64_t> number;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

class PartMemory {
 public:
  PartMemory(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, AnalysisAnswer& answer)
      : traces_(traces), part_(part), scope_(scope), reader_(*traces.parts()[part].reader), answer_(answer) {}

  // False: the part has no memory events.
  Result<bool> Answer(int64_t points, const StopSignal& stop) {
    RETURN_IF_ERROR(StillWanted(stop));
    MemoryCharge charge(traces_.take_memory());
    const TracePart& part = traces_.parts()[part_];
    ASSIGN_OR_RETURN(MemoryEvents read, ReadMemoryEvents(part, stop, charge));
    std::map<std::tuple<bool, int64_t, uint32_t>, MemoryLevels> devices;  // those with a number first
    for (const MemoryEvent& event : read.events) {
      if (scope_.device() && event.device != *scope_.device()) continue;
      devices[{event.device == kNoValue, event.device, event.kind}].Add(event);
    }
    if (devices.empty()) return false;
    from_ns_ = scope_.from_ns(part_).value_or(INT64_MIN);
    to_ns_ = scope_.to_ns(part_).value_or(INT64_MAX);
    RETURN_IF_ERROR(FindSteps(stop));
    ASSIGN_OR_RETURN(const Allocators allocators, Allocators::Read(part, stop, charge));
    for (auto& [key, memory] : devices) {
      RETURN_IF_ERROR(StillWanted(stop));
      RETURN_IF_ERROR(charge.Grow(memory.size_bytes()));
      memory.Close();
      device_ = std::get<1>(key) == kNoValue ? AnalysisValue() : AnalysisValue(std::get<1>(key));
      kind_ = read.kinds[std::get<2>(key)];
      RETURN_IF_ERROR(AddDevice(memory, allocators));
      RETURN_IF_ERROR(AddSteps(memory, allocators));
      RETURN_IF_ERROR(AddOverTime(memory, points));
    }
    return true;
  }

 private:
  Status FindSteps(const StopSignal& stop) {
    ASSIGN_OR_RETURN(const std::vector<ProfilerStep> steps, FindProfilerSteps(traces_.parts()[part_], stop));
    for (const ProfilerStep& step : steps) {
      const int64_t begin = std::max(from_ns_, step.begin_ns);
      const int64_t end = std::min(to_ns_, step.end_ns);
      if (begin < end) steps_.push_back({step.number, begin, end});
    }
    if (steps_.empty()) steps_.push_back({std::nullopt, from_ns_, to_ns_});
    return OkStatus();
  }

  AnalysisAnswer::Row RowOf(std::initializer_list<AnalysisValue> values) const {
    AnalysisAnswer::Row row = {traces_.run(part_), ValueOf(traces_.parts()[part_].rank), device_, kind_};
    row.insert(row.end(), values);
    return row;
  }

  Status AddDevice(const MemoryLevels& memory, const Allocators& allocators) {
    const auto [first, end] = memory.Within(from_ns_, to_ns_);
    const size_t peak = memory.FindPeak(first, end);
    int64_t allocations = 0;
    int64_t frees = 0;
    int64_t allocated = 0;
    std::optional<int64_t> most_reserved = memory.ReservedAfter(first);
    for (size_t i = first; i < end; ++i) {
      const MemoryEvent& event = memory.events()[i];
      (event.bytes > 0 ? allocations : frees) += 1;
      if (event.bytes > 0) allocated = SaturatingSum(allocated, event.bytes);
      most_reserved = std::max(most_reserved, memory.ReservedAfter(i + 1));
    }
    const AnalysisValue peak_at = peak == first ? AnalysisValue() : AnalysisValue(memory.events()[peak - 1].time_ns);
    const auto known = [&](int64_t level) { return memory.has_totals() ? AnalysisValue(level) : AnalysisValue(); };
    RETURN_IF_ERROR(answer_.AddRow(
        kMemoryDevices,
        RowOf({memory.LevelAfter(peak), peak_at, ValueOf(memory.ReservedAfter(peak)), ValueOf(most_reserved),
               known(memory.LevelAfter(first)), known(memory.LevelAfter(end)), allocations, frees, allocated})));
    if (!memory.has_totals()) {
      answer_.AddNote(traces_.NameOf(part_) + ": what was allocated before the trace is not known of memory of kind " +
                      kind_ + "; its levels count from 0");
    }
    if (!memory.has_addresses()) {
      answer_.AddNote(traces_.NameOf(part_) + ": allocations have no addresses, so nobody knows which were freed");
      return OkStatus();
    }
    std::vector<HeldMemory> held = memory.FindHeld(0, peak);
    int64_t before = memory.LevelAfter(peak);
    for (const HeldMemory& one : held) before -= one.bytes;
    ASSIGN_OR_RETURN(std::vector<HolderSum> sums, SumsOf(std::move(held), allocators));
    if (before > 0 && memory.has_totals()) {
      sums.push_back({.names = {std::string(kBeforeTrace), "", ""}, .bytes = before});
    }
    std::stable_sort(sums.begin(), sums.end(),
                     [](const HolderSum& a, const HolderSum& b) { return a.bytes > b.bytes; });
    for (const HolderSum& sum : sums) {
      RETURN_IF_ERROR(answer_.AddRow(
          kHeld, RowOf({sum.bytes, PercentOf(sum.bytes, memory.LevelAfter(peak)), NameValue(sum.names[0]),
                        sum.count > 0 ? AnalysisValue(sum.count) : AnalysisValue(),
                        sum.count > 0 ? AnalysisValue(sum.largest) : AnalysisValue(), NameValue(sum.names[1]),
                        NameValue(sum.names[2])})));
    }
    return OkStatus();
  }

  Status AddSteps(const MemoryLevels& memory, const Allocators& allocators) {
    for (const MemoryStep& step : steps_) {
      const auto [first, end] = memory.Within(step.begin_ns, step.end_ns);
      const AnalysisValue number = ValueOf(step.number);
      std::vector<HeldMemory> held = memory.FindHeld(first, end);
      int64_t kept = 0;
      for (const HeldMemory& one : held) kept += one.bytes;
      const auto known = [&](int64_t level) { return memory.has_totals() ? AnalysisValue(level) : AnalysisValue(); };
      RETURN_IF_ERROR(answer_.AddRow(
          kMemorySteps, RowOf({number, memory.LevelAfter(end) - memory.LevelAfter(first),
                               memory.has_addresses() ? AnalysisValue(kept) : AnalysisValue(),
                               memory.LevelAfter(memory.FindPeak(first, end)), known(memory.LevelAfter(first)),
                               known(memory.LevelAfter(end)), static_cast<int64_t>(end - first)})));
      ASSIGN_OR_RETURN(const std::vector<HolderSum> sums, SumsOf(std::move(held), allocators));
      for (const HolderSum& sum : sums) {
        RETURN_IF_ERROR(answer_.AddRow(kKept, RowOf({number, sum.bytes, NameValue(sum.names[0]), sum.count,
                                                     NameValue(sum.names[1]), NameValue(sum.names[2])})));
      }
    }
    return OkStatus();
  }

  // The highest level of each of so many stretches of time, where there is an event in it.
  Status AddOverTime(const MemoryLevels& memory, int64_t points) {
    const auto [first, end] = memory.Within(from_ns_, to_ns_);
    if (first == end) return OkStatus();
    const int64_t begin = memory.events()[first].time_ns;
    const int64_t width = (memory.events()[end - 1].time_ns - begin) / points + 1;
    for (size_t i = first; i < end;) {
      const int64_t stretch = (memory.events()[i].time_ns - begin) / width;
      size_t next = i;
      while (next < end && (memory.events()[next].time_ns - begin) / width == stretch) ++next;
      size_t peak = i + 1;
      for (size_t at = i; at < next; ++at) {
        if (memory.LevelAfter(at + 1) > memory.LevelAfter(peak)) peak = at + 1;
      }
      RETURN_IF_ERROR(answer_.AddRow(kOverTime, RowOf({memory.events()[peak - 1].time_ns, memory.LevelAfter(peak),
                                                       ValueOf(memory.ReservedAfter(peak))})));
      i = next;
    }
    return OkStatus();
  }

  struct HolderSum {
    std::array<std::string, 3> names;  // of the operator, the module and the frame; empty: none
    int64_t bytes = 0;
    int64_t count = 0;
    int64_t largest = 0;
  };

  static AnalysisValue NameValue(const std::string& name) {
    return name.empty() ? AnalysisValue() : AnalysisValue(name);
  }

  // By the holders, the most bytes first.
  Result<std::vector<HolderSum>> SumsOf(std::vector<HeldMemory> held, const Allocators& allocators) {
    allocators.Find(held);
    std::map<std::array<int64_t, 3>, HolderSum> by_holders;
    for (const HeldMemory& one : held) {
      HolderSum& sum = by_holders[one.holders];
      sum.bytes = SaturatingSum(sum.bytes, one.bytes);
      ++sum.count;
      sum.largest = std::max(sum.largest, one.bytes);
    }
    std::map<std::array<std::string, 3>, HolderSum> by_names;  // calls of one operator may differ in their numbers
    for (const auto& [holders, sum] : by_holders) {
      std::array<std::string, 3> names;
      for (size_t i = 0; i < holders.size(); ++i) {
        if (holders[i] == kNoValue) continue;
        ASSIGN_OR_RETURN(names[i], reader_.ReadString(holders[i]));
      }
      names[0] = NameOfCall(names[0]);
      HolderSum& of_names = by_names[names];
      of_names.names = std::move(names);
      of_names.bytes = SaturatingSum(of_names.bytes, sum.bytes);
      of_names.count += sum.count;
      of_names.largest = std::max(of_names.largest, sum.largest);
    }
    std::vector<HolderSum> sums;
    sums.reserve(by_names.size());
    for (auto& [names, sum] : by_names) sums.push_back(std::move(sum));
    std::sort(sums.begin(), sums.end(), [](const HolderSum& a, const HolderSum& b) {
      return std::tie(b.bytes, a.names) < std::tie(a.bytes, b.names);
    });
    return sums;
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  const DeviceScope& scope_;
  PartReader& reader_;
  AnalysisAnswer& answer_;
  int64_t from_ns_ = INT64_MIN;
  int64_t to_ns_ = INT64_MAX;
  std::vector<MemoryStep> steps_;
  AnalysisValue device_;  // of the device that rows are made for
  std::string kind_;
};

Result<AnalysisAnswer> AnswerMemory(const AnalysisTraces& traces, const AnalysisOptions& options,
                                    const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  bool has_any = false;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    PartMemory memory(traces, part, scope, answer);
    ASSIGN_OR_RETURN(const bool has, memory.Answer(options.integer("points").value_or(1), stop));
    has_any |= has;
  }
  if (!has_any) {
    answer.AddNote(
        "no memory events: record them with profile_memory=True (PyTorch), or with nsys --cuda-memory-usage=true");
  }
  return answer;
}

}  // namespace

AnalysisKind Memory() {
  using enum AnalysisType;
  constexpr AnalysisColumn kRun = {"run", kText, "", "The run", true};
  constexpr AnalysisColumn kRank = {"rank", kInteger, "", "The rank; null where nobody knows it"};
  constexpr AnalysisColumn kDevice = {"device", kInteger, "", "The device; null: memory of the host"};
  constexpr AnalysisColumn kMemoryKind = {"kind", kText, "", "gpu, cpu, pinned, managed..."};
  return {.name = "memory",
          .version = 1,
          .question = "How much memory was allocated at most, what held it then, and what does a step leave behind?",
          .options = {kTraceScope, kMemoryOptions},
          .tables = {{"devices",
                      {kRun,
                       kRank,
                       kDevice,
                       kMemoryKind,
                       {"peak_bytes", kInteger, "bytes", "The most that was allocated at a time"},
                       {"peak_at_ns", kInteger, "ns", "When it was reached first; null: at the begin"},
                       {"reserved_bytes", kInteger, "bytes", "What the allocator had of the device then"},
                       {"peak_reserved_bytes", kInteger, "bytes", "The most that the allocator had"},
                       {"start_bytes", kInteger, "bytes", "Allocated at the begin; null: not known"},
                       {"end_bytes", kInteger, "bytes", "Allocated at the end"},
                       {"allocations", kInteger, "", "How many there were"},
                       {"frees", kInteger, "", "How many there were"},
                       {"allocated_bytes", kInteger, "bytes", "All allocations, added up"}}},
                     {"held",
                      {kRun,
                       kRank,
                       kDevice,
                       kMemoryKind,
                       {"bytes", kInteger, "bytes", "What it held at the peak"},
                       {"percent", kReal, "percent", "Of the peak"},
                       {"operator", kText, "", "The innermost operator that allocated it"},
                       {"allocations", kInteger, "", "In how many allocations"},
                       {"largest_bytes", kInteger, "bytes", "The largest of them"},
                       {"module", kText, "", "The innermost nn.Module; null: no Python frames were recorded"},
                       {"frame", kText, "", "The innermost Python function that is neither a module nor built-in"}}},
                     {"steps",
                      {kRun,
                       kRank,
                       kDevice,
                       kMemoryKind,
                       {"step", kInteger, "", "The step; null: the trace has none, and this is all of it"},
                       {"growth_bytes", kInteger, "bytes", "Allocated at its end less than at its begin"},
                       {"kept_bytes", kInteger, "bytes", "Allocated in it and not freed at its end"},
                       {"peak_bytes", kInteger, "bytes", "The most that was allocated in it"},
                       {"start_bytes", kInteger, "bytes", "Allocated at its begin; null: not known"},
                       {"end_bytes", kInteger, "bytes", "Allocated at its end"},
                       {"events", kInteger, "", "Allocations and frees in it"}}},
                     {"kept",
                      {kRun,
                       kRank,
                       kDevice,
                       kMemoryKind,
                       {"step", kInteger, "", "As in table steps"},
                       {"bytes", kInteger, "bytes", "What was allocated in it and not freed at its end"},
                       {"operator", kText, "", "The innermost operator that allocated it"},
                       {"allocations", kInteger, "", "In how many allocations"},
                       {"module", kText, "", "As in table held"},
                       {"frame", kText, "", "As in table held"}}},
                     {"over_time",
                      {kRun,
                       kRank,
                       kDevice,
                       kMemoryKind,
                       {"time_ns", kInteger, "ns", "When the most of its stretch of time was reached"},
                       {"allocated_bytes", kInteger, "bytes", "Allocated then"},
                       {"reserved_bytes", kInteger, "bytes", "What the allocator had then"}}}},
          .answer = &AnswerMemory};
}

}  // namespace kprof
