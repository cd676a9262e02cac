#include "daemon/analysis/functions/host/host_calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/slice_runs.h"

namespace kprof {
namespace {

constexpr std::string_view kModulePrefix = "nn.Module: ";
constexpr std::string_view kStepNames = "ProfilerStep#";
constexpr std::string_view kCallNumbers[] = {", seq = ", ", op_id = "};

// Roles by category and name, and numbers of both; each different one is looked at once.
class Roles {
 public:
  explicit Roles(PartReader& reader) : reader_(reader) {}

  Status Find(int64_t category, HostCall& call) {
    if (!has_last_ || category != last_category_) {
      ASSIGN_OR_RETURN(last_role_, OfCategory(category));
      last_category_ = category;
      has_last_ = true;
    }
    call.role = last_role_;
    if (call.role == CallRole::kOther) return OkStatus();
    const bool is_near = call.name >= 0 && call.name < kNear;
    std::vector<Known>& near = near_[static_cast<size_t>(call.role)];
    if (is_near && static_cast<size_t>(call.name) >= near.size()) near.resize(static_cast<size_t>(call.name) + 1);
    Known& known = is_near ? near[static_cast<size_t>(call.name)] : far_[{call.role, call.name}];
    if (!known.is_known) {
      ASSIGN_OR_RETURN(const std::string text, reader_.ReadString(call.name));
      known = {true, call.role, 0, call.name};
      if (call.role == CallRole::kFrame && text.starts_with(kModulePrefix)) known.role = CallRole::kModule;
      if (call.role != CallRole::kFrame && text.starts_with(kStepNames)) known.role = CallRole::kStep;
      const std::string_view operator_name = NameOfCall(text);
      if (call.role == CallRole::kAnnotation && operator_name.size() < text.size()) {
        known.role = CallRole::kOperator;
        const auto [same, is_new] = operators_.try_emplace(std::string(operator_name), call.name, next_number_);
        std::tie(known.name, known.number) = same->second;
        next_number_ += is_new ? 1 : 0;
      } else {
        known.number = next_number_++;
      }
    }
    call.role = known.role;
    call.number = known.number;
    call.name = known.name;
    return OkStatus();
  }

 private:
  static constexpr int64_t kNear = 1 << 22;
  struct Known {
    bool is_known = false;
    CallRole role = CallRole::kOther;
    uint32_t number = 0;
    int64_t name = 0;
  };

  Result<CallRole> OfCategory(int64_t category) {
    const auto known = categories_.find(category);
    if (known != categories_.end()) return known->second;
    ASSIGN_OR_RETURN(const std::string text, reader_.ReadString(category));
    CallRole role = CallRole::kOther;
    if (text == "cpu_op" || text == "Operator") role = CallRole::kOperator;
    if (text == "python_function") role = CallRole::kFrame;
    if (text == "user_annotation" || text == "nvtx") role = CallRole::kAnnotation;
    categories_.emplace(category, role);
    return role;
  }

  PartReader& reader_;
  bool has_last_ = false;
  int64_t last_category_ = 0;
  CallRole last_role_ = CallRole::kOther;
  uint32_t next_number_ = 0;
  std::unordered_map<int64_t, CallRole> categories_;
  std::array<std::vector<Known>, kCallRoles> near_;  // by the role that its category says, and by name
  std::map<std::pair<CallRole, int64_t>, Known> far_;
  std::map<std::string, std::pair<int64_t, uint32_t>> operators_;  // of nvtx: name and number of the first
};

struct CallColumns {
  DecodedColumn names;
  DecodedColumn categories;    // null: the segment has none
  DecodedColumn correlations;  // null: the segment has none
};

struct OpenCalls {
  std::vector<HostCall> calls;
  std::vector<int64_t> depths;  // side by side with them
};

class Walk {
 public:
  Walk(const TracePart& part, HostCallVisitor& visitor)
      : reader_(*part.reader), tracks_(part.tracks), visitor_(visitor), roles_(reader_) {}

  Status SeeCluster(const SegmentCluster& cluster, const StopSignal& stop) {
    columns_.clear();
    for (const Segment& segment : cluster) {
      CallColumns columns;
      ASSIGN_OR_RETURN(columns.names, reader_.Read(segment, EventColumn::kName));
      ASSIGN_OR_RETURN(const std::optional<ColumnBounds> categories,
                       reader_.ReadBounds(segment, EventColumn::kCategory));
      if (categories) {
        ASSIGN_OR_RETURN(columns.categories, reader_.Read(segment, EventColumn::kCategory));
      }
      ASSIGN_OR_RETURN(const std::optional<ColumnBounds> correlations,
                       reader_.ReadBounds(segment, EventColumn::kCorrelation));
      if (correlations) {
        ASSIGN_OR_RETURN(columns.correlations, reader_.Read(segment, EventColumn::kCorrelation));
      }
      columns_.push_back(std::move(columns));
    }
    RETURN_IF_ERROR(visitor_.SeeSegments(cluster));
    return ForEachSliceRun(reader_, cluster, stop, [&](const SliceRun& run) { return Add(cluster, run); });
  }

  void EndAll() {
    for (auto& [track, open] : open_) {
      if (open.calls.empty()) continue;
      visitor_.SeeTrack(track);
      EndFrom(open, INT64_MIN);
    }
  }

 private:
  Status Add(const SegmentCluster& cluster, const SliceRun& run) {
    if (reader_.tracks()[run.track].kind == "gpu_stream") return OkStatus();
    if (tracks_ != nullptr && (*tracks_)[run.track] == 0) return OkStatus();
    OpenCalls& open = open_[run.track];
    visitor_.SeeTrack(run.track);
    for (size_t i = 0; i < run.size; ++i) {
      const size_t segment = run.SegmentOf(i);
      const uint32_t row = run.RowOf(i);
      const CallColumns& columns = columns_[segment];
      HostCall call{.track = run.track, .name = (*columns.names)[row], .segment = &cluster[segment], .row = row};
      call.begin_ns = SafeTime(run.times[i]);
      call.end_ns = SafeEndOf(call.begin_ns, run.durations[i]);
      if (columns.correlations) call.correlation = (*columns.correlations)[row];
      if (columns.categories) {
        RETURN_IF_ERROR(roles_.Find((*columns.categories)[row], call));
      }
      const int64_t depth = std::max<int64_t>(run.depths[i], 0);
      EndFrom(open, depth);
      open.calls.push_back(call);
      open.depths.push_back(depth);
      visitor_.Begin(open.calls);
      if (run.depths[i] < 0) EndFrom(open, depth);
    }
    // A segment of the next cluster has another address.
    for (HostCall& call : open.calls) call.segment = nullptr;
    return OkStatus();
  }

  void EndFrom(OpenCalls& open, int64_t depth) {
    while (!open.calls.empty() && open.depths.back() >= depth) {
      visitor_.End(open.calls);
      open.calls.pop_back();
      open.depths.pop_back();
    }
  }

  PartReader& reader_;
  const std::vector<uint8_t>* const tracks_;
  HostCallVisitor& visitor_;
  Roles roles_;
  std::vector<CallColumns> columns_;  // of the segments of the cluster
  std::unordered_map<uint32_t, OpenCalls> open_;
};

}  // namespace

std::string_view NameOfCall(std::string_view name) {
  for (const std::string_view numbers : kCallNumbers) name = name.substr(0, name.find(numbers));
  return name;
}

Status VisitHostCalls(const TracePart& part, const StopSignal& stop, HostCallVisitor& visitor) {
  Walk walk(part, visitor);
  for (const SegmentCluster& cluster : ClustersOf(part.reader->segments(EventKind::kSlice))) {
    RETURN_IF_ERROR(StillWanted(stop));
    RETURN_IF_ERROR(walk.SeeCluster(cluster, stop));
  }
  walk.EndAll();
  return OkStatus();
}

}  // namespace kprof
