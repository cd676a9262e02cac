#include "daemon/analysis/functions/comparison/call_places.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "daemon/analysis/functions/comparison/comparable_names.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {
namespace {

constexpr int64_t kCallPlaceBytes = 128;  // of a node and its places in lists
constexpr size_t kMostCallPlaces = 1 << 20;

bool IsPlace(CallRole role) {
  return role == CallRole::kOperator || role == CallRole::kModule || role == CallRole::kAnnotation;
}

}  // namespace

class CallPlaces::Visitor final : public HostCallVisitor {
 public:
  Visitor(CallPlaces& tree, PartReader& reader, const LaunchedWork& work, Interval time)
      : tree_(tree), reader_(reader), work_(work), time_(time) {}

  Status SeeSegments(std::span<const Segment> /*segments*/) override { return failed_; }
  void SeeTrack(uint32_t track) override { open_ = &tracks_[track]; }
  void Begin(const std::vector<HostCall>& calls) override {
    const HostCall& call = calls.back();
    open_->resize(calls.size());
    Open& open = open_->back();
    open = calls.size() > 1 ? (*open_)[calls.size() - 2] : Open{};
    const bool is_asked = call.end_ns >= time_.begin_ns && call.begin_ns < time_.end_ns;
    if (IsPlace(call.role) && is_asked && failed_.ok()) {
      open.node = tree_.ChildOf(open.node, LabelOf(call.name), call.role, failed_);
      CallPlace& node = tree_.nodes_[open.node];
      ++node.calls;
      node.host_ns = SaturatingSum(node.host_ns, call.end_ns - call.begin_ns);
      if (call.role == CallRole::kOperator) open.launcher = node.label;
    }
    const std::span<const LaunchedSlice> launched = work_.Of(call.correlation);
    if (launched.empty() || !launched_.insert(launched.data()).second) return;
    CallPlace& node = tree_.nodes_[open.node];
    for (const LaunchedSlice& slice : launched) {
      if (slice.end_ns < time_.begin_ns || slice.begin_ns >= time_.end_ns) continue;
      node.device_ns = SaturatingSum(node.device_ns, slice.length_ns());
      ++node.kernels;
      if (open.launcher != 0) launchers_[slice.name][open.launcher] += slice.length_ns();
    }
  }
  void End(const std::vector<HostCall>& /*calls*/) override {}

  // Hands over what is known of launchers.
  Status Finish() {
    RETURN_IF_ERROR(failed_);
    for (const auto& [name, by_operator] : launchers_) {
      ASSIGN_OR_RETURN(const std::string text, reader_.ReadString(name));
      for (const auto& [launcher, ns] : by_operator) tree_.launchers_[text][launcher] += ns;
    }
    return OkStatus();
  }

 private:
  struct Open {
    uint32_t node = 0;
    uint32_t launcher = 0;  // the label of the innermost operator
  };

  uint32_t LabelOf(int64_t name) {
    const auto [place, is_new] = labels_.try_emplace(name, 0);
    if (!is_new) return place->second;
    const Result<std::string> text = reader_.ReadString(name);
    if (!text.ok()) {
      failed_ = text.status();
      return 0;
    }
    place->second = tree_.texts_.NumberOf(HostCallName(*text));
    return place->second;
  }

  CallPlaces& tree_;
  PartReader& reader_;
  const LaunchedWork& work_;
  const Interval time_;
  Status failed_ = OkStatus();
  std::vector<Open>* open_ = nullptr;  // of the track
  std::unordered_map<uint32_t, std::vector<Open>> tracks_;
  std::unordered_map<int64_t, uint32_t> labels_;       // by a string's number
  std::unordered_set<const LaunchedSlice*> launched_;  // a driver's call has the correlation of its runtime's
  std::unordered_map<int64_t, std::map<uint32_t, int64_t>> launchers_;
};

Status CallPlaces::Add(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop) {
  ASSIGN_OR_RETURN(const LaunchedWork work, LaunchedWork::Read(traces, part, scope, stop));
  const Interval time{scope.from_ns(part).value_or(kFirstTimeNs), scope.to_ns(part).value_or(kLastTimeNs)};
  Visitor visitor(*this, *traces.parts()[part].reader, work, time);
  RETURN_IF_ERROR(VisitHostCalls(traces.parts()[part], stop, visitor));
  return visitor.Finish();
}

uint32_t CallPlaces::ChildOf(uint32_t parent, uint32_t label, CallRole role, Status& failed) {
  const auto [place, is_new] = places_.try_emplace(uint64_t{parent} << 32 | label, 0);
  if (!is_new) return place->second;
  if (nodes_.size() == kMostCallPlaces) {
    failed = Fail(ErrorCode::kUsage, "follow the host's calls", "they are too many different ones",
                  "ask for a step, or for less time");
  } else {
    failed = charge_.Grow(kCallPlaceBytes);
  }
  if (!failed.ok()) {
    places_.erase(place);
    return parent;
  }
  place->second = static_cast<uint32_t>(nodes_.size());
  nodes_[parent].children.push_back(place->second);
  nodes_.push_back({.label = label, .parent = parent, .role = role});
  return place->second;
}

std::string CallPlaces::LauncherOf(std::string_view kernel) const {
  const auto found = launchers_.find(kernel);
  if (found == launchers_.end()) return "";
  uint32_t most = 0;
  int64_t most_ns = -1;
  for (const auto& [launcher, ns] : found->second) {
    if (ns > most_ns) most = launcher;
    most_ns = std::max(most_ns, ns);
  }
  return texts_.TextOf(most);
}

}  // namespace kprof
