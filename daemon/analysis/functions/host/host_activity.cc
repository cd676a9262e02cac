#include "daemon/analysis/functions/host/host_activity.h"

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "daemon/analysis/functions/host/host_calls.h"
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
  const bool is_annotation = category == "nvtx" || category == "user_annotation";
  if (is_annotation && NameOfCall(name).size() < name.size()) return HostActivity::kOperator;
  if (category == "os_runtime" || category == "os_file") return HostActivity::kSystem;
  return category == "python_function" ? HostActivity::kPython : HostActivity::kNothing;
}

HostActivity HostTimes::longest() const {
  return static_cast<HostActivity>(std::max_element(ns.begin(), ns.end()) - ns.begin());
}

Result<HostActivities::Known> HostActivities::Classify(int64_t category, int64_t name) {
  const auto found = known_.find({category, name});
  if (found != known_.end()) return found->second;
  PartReader& reader = *part_.reader;
  std::string category_text;
  if (category != kNoValue) {
    ASSIGN_OR_RETURN(category_text, reader.ReadString(category));
  }
  ASSIGN_OR_RETURN(const std::string name_text, reader.ReadString(name));
  Known known{ActivityOf(category_text, name_text), name};
  const std::string_view call = NameOfCall(name_text);
  if (known.activity == HostActivity::kOperator && call.size() < name_text.size()) {
    known.name = operators_.try_emplace(std::string(call), name).first->second;
  }
  return known_[{category, name}] = known;
}

Status HostActivities::ReadPieces(const Interval& stretch, std::optional<uint32_t> track, MemoryCharge& charge,
                                  const StopSignal& stop, std::vector<Piece>& pieces) {
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
  const auto read_if_there = [&](const Segment& segment, EventColumn column, DecodedColumn& values) -> Status {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, column));
    if (bounds) {
      ASSIGN_OR_RETURN(values, reader.Read(segment, column));
    }
    return OkStatus();
  };
  return bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    ASSIGN_OR_RETURN(const DecodedColumn begins, reader.Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn durations, reader.Read(segment, EventColumn::kDuration));
    ASSIGN_OR_RETURN(const DecodedColumn names, reader.Read(segment, EventColumn::kName));
    ASSIGN_OR_RETURN(const DecodedColumn tracks, reader.Read(segment, EventColumn::kTrack));
    DecodedColumn categories;
    DecodedColumn correlations;
    RETURN_IF_ERROR(read_if_there(segment, EventColumn::kCategory, categories));
    if (!waits_.empty()) RETURN_IF_ERROR(read_if_there(segment, EventColumn::kCorrelation, correlations));
    const size_t count = selection.all ? segment.rows : selection.rows.size();
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(count * (sizeof(Piece) + sizeof(Interval)))));
    for (size_t i = 0; i < count; ++i) {
      const size_t row = selection.all ? i : selection.rows[i];
      ASSIGN_OR_RETURN(const Known known, Classify(categories ? (*categories)[row] : kNoValue, (*names)[row]));
      Piece piece{static_cast<uint32_t>((*tracks)[row]), known.activity, known.name, SafeTime((*begins)[row])};
      piece.end_ns = SafeEndOf(piece.begin_ns, (*durations)[row]);
      const bool is_within = std::max(piece.begin_ns, stretch.begin_ns) < std::min(piece.end_ns, stretch.end_ns);
      if (piece.activity == HostActivity::kNothing || !is_within) continue;
      if (piece.activity == HostActivity::kLaunch && correlations &&
          std::binary_search(waits_.begin(), waits_.end(), (*correlations)[row])) {
        piece.activity = HostActivity::kSync;
      }
      pieces.push_back(piece);
    }
    return OkStatus();
  });
}

std::optional<int64_t> HostActivities::NameOfMost(const Interval& stretch, HostActivity activity,
                                                  std::vector<Piece>& pieces) {
  const auto length_within = [&](int64_t begin_ns, int64_t end_ns) {
    return std::max<int64_t>(std::min(end_ns, stretch.end_ns) - std::max(begin_ns, stretch.begin_ns), 0);
  };
  // Outer slices before those within them.
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.track, a.begin_ns, b.end_ns, b.activity) < std::tie(b.track, b.begin_ns, a.end_ns, a.activity);
  });
  const Piece* innermost = nullptr;
  for (const Piece& piece : pieces) {
    if (piece.activity != activity) continue;
    if (length_within(piece.begin_ns, piece.end_ns) < (stretch.end_ns - stretch.begin_ns + 1) / 2) continue;
    const bool is_shorter =
        innermost == nullptr || piece.end_ns - piece.begin_ns <= innermost->end_ns - innermost->begin_ns;
    if (is_shorter) innermost = &piece;
  }
  if (innermost != nullptr) return innermost->name;
  std::unordered_map<int64_t, int64_t> own_ns;  // by name
  std::vector<const Piece*> open;
  for (const Piece& piece : pieces) {
    while (!open.empty() && (open.back()->track != piece.track || open.back()->end_ns <= piece.begin_ns)) {
      open.pop_back();
    }
    if (!open.empty() && open.back()->activity == activity) {
      own_ns[open.back()->name] -= length_within(piece.begin_ns, std::min(piece.end_ns, open.back()->end_ns));
    }
    if (piece.activity == activity) own_ns[piece.name] += length_within(piece.begin_ns, piece.end_ns);
    open.push_back(&piece);
  }
  std::optional<int64_t> name;
  int64_t most_ns = 0;
  for (const auto& [of_name, ns] : own_ns) {
    if (name && std::pair(-ns, of_name) > std::pair(-most_ns, *name)) continue;
    name = of_name;
    most_ns = ns;
  }
  return name;
}

Result<HostTimes> HostActivities::Find(const Interval& stretch, std::optional<uint32_t> track, const StopSignal& stop) {
  MemoryCharge charge(take_memory_);
  std::vector<Piece> pieces;
  RETURN_IF_ERROR(ReadPieces(stretch, track, charge, stop, pieces));
  std::array<std::vector<Interval>, kHostActivities> of_activities;
  for (const Piece& piece : pieces) {
    of_activities[static_cast<size_t>(piece.activity)].push_back(
        {std::max(piece.begin_ns, stretch.begin_ns), std::min(piece.end_ns, stretch.end_ns)});
  }
  HostTimes times;
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
  if (times.longest() != HostActivity::kNothing) times.name = NameOfMost(stretch, times.longest(), pieces);
  return times;
}

}  // namespace kprof
