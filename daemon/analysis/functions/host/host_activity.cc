#include "daemon/analysis/functions/host/host_activity.h"

#include <algorithm>
#include <span>
#include <string>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/part_filter.h"

namespace kprof {
namespace {

constexpr std::string_view kActivityNames[kHostActivities] = {
    "sync", "allocation", "launch", "runtime", "data_loader", "operator", "system", "python", "nothing"};
constexpr std::string_view kAllocations[] = {"Malloc",  "Free",      "MemAlloc", "HostAlloc",        "HostRegister",
                                             "MemPool", "MemCreate", "MemMap",   "MemAddressReserve"};

bool IsOneOf(std::span<const std::string_view> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool HasAny(std::string_view text, std::span<const std::string_view> pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [text](std::string_view piece) { return text.find(piece) != std::string_view::npos; });
}

HostActivity ActivityOfCall(std::string_view name) {
  const auto has = [name](std::string_view piece) { return name.find(piece) != std::string_view::npos; };
  const bool is_copy = has("Memcpy") || has("Memset");
  if (has("Synchronize") || (is_copy && !has("Async"))) return HostActivity::kSync;
  if (is_copy || has("Launch")) return HostActivity::kLaunch;
  return HasAny(name, kAllocations) ? HostActivity::kAllocation : HostActivity::kRuntime;
}

}  // namespace

std::string_view HostActivityName(HostActivity activity) {
  return kActivityNames[static_cast<size_t>(activity)];
}

HostActivity ActivityOf(std::string_view category, std::string_view name) {
  if (IsOneOf(kRuntimeCategories, category)) return ActivityOfCall(name);
  if (name.find("DataLoader") != std::string_view::npos || name.find("dataloader.py") != std::string_view::npos) {
    return HostActivity::kDataLoader;
  }
  if (category == "cpu_op" || category == "Operator") return HostActivity::kOperator;
  if (category == "os_runtime" || category == "os_file") return HostActivity::kSystem;
  return category == "python_function" ? HostActivity::kPython : HostActivity::kNothing;
}

HostActivity HostTimes::longest() const {
  return static_cast<HostActivity>(std::max_element(ns.begin(), ns.end()) - ns.begin());
}

Result<HostActivity> HostActivities::Classify(int64_t category, int64_t name) {
  const auto found = known_.find({category, name});
  if (found != known_.end()) return found->second;
  PartReader& reader = *part_.reader;
  std::string category_text;
  if (category != kNoValue) {
    ASSIGN_OR_RETURN(category_text, reader.ReadString(category));
  }
  ASSIGN_OR_RETURN(const std::string name_text, reader.ReadString(name));
  return known_[{category, name}] = ActivityOf(category_text, name_text);
}

Result<HostTimes> HostActivities::Find(const Interval& stretch, std::optional<uint32_t> track, const StopSignal& stop) {
  struct Longest {
    int64_t within_ns = 0;
    int64_t whole_ns = 0;
  };
  HostTimes times;
  std::array<Longest, kHostActivities> longest;
  std::array<std::vector<Interval>, kHostActivities> of_activities;
  MemoryCharge charge(take_memory_);
  PartReader& reader = *part_.reader;
  EventFilter filter;
  filter.from_ns = stretch.begin_ns;
  filter.to_ns = stretch.end_ns;
  if (track) {
    filter.tracks = {int64_t{*track}};
  } else {
    filter.track_kinds = {"cpu_thread"};
  }
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part_, EventKind::kSlice));
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    ASSIGN_OR_RETURN(const DecodedColumn begins, reader.Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn durations, reader.Read(segment, EventColumn::kDuration));
    ASSIGN_OR_RETURN(const DecodedColumn names, reader.Read(segment, EventColumn::kName));
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> has_categories,
                     reader.ReadBounds(segment, EventColumn::kCategory));
    DecodedColumn categories;
    if (has_categories) {
      ASSIGN_OR_RETURN(categories, reader.Read(segment, EventColumn::kCategory));
    }
    const size_t count = selection.all ? segment.rows : selection.rows.size();
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(count * sizeof(Interval))));
    for (size_t i = 0; i < count; ++i) {
      const size_t row = selection.all ? i : selection.rows[i];
      ASSIGN_OR_RETURN(const HostActivity activity,
                       Classify(categories ? (*categories)[row] : kNoValue, (*names)[row]));
      const int64_t begin = SafeTime((*begins)[row]);
      const int64_t end = SafeEndOf(begin, (*durations)[row]);
      const Interval within{std::max(begin, stretch.begin_ns), std::min(end, stretch.end_ns)};
      const int64_t ns = within.end_ns - within.begin_ns;
      if (activity == HostActivity::kNothing || ns <= 0) continue;
      const auto at = static_cast<size_t>(activity);
      of_activities[at].push_back(within);
      Longest& best = longest[at];
      if (ns > best.within_ns || (ns == best.within_ns && end - begin < best.whole_ns)) {
        best = {ns, end - begin};
        times.name[at] = (*names)[row];
      }
    }
    return OkStatus();
  }));
  // Time that an earlier activity covers already is not the later one's.
  std::vector<Interval> covered;
  std::vector<Interval> next;
  int64_t covered_ns = 0;
  for (size_t at = 0; at + 1 < kHostActivities; ++at) {
    IntervalSweep sweep;
    for (const Interval& interval : covered) sweep.Add(interval.begin_ns, interval.end_ns);
    for (const Interval& interval : of_activities[at]) sweep.Add(interval.begin_ns, interval.end_ns);
    next.clear();
    sweep.Settle(INT64_MAX, next);
    int64_t length = 0;
    for (const Interval& interval : next) length += interval.end_ns - interval.begin_ns;
    times.ns[at] = length - covered_ns;
    covered_ns = length;
    covered.swap(next);
  }
  times.ns[static_cast<size_t>(HostActivity::kNothing)] = stretch.end_ns - stretch.begin_ns - covered_ns;
  return times;
}

}  // namespace kprof
