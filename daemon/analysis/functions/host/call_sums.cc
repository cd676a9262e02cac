#include "daemon/analysis/functions/host/call_sums.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

constexpr size_t kMostTreeNodes = 1 << 16;      // of one part
constexpr size_t kMostNodesTogether = 1 << 14;  // of several
constexpr size_t kLeastTreeNodes = 1 << 7;
constexpr uint32_t kNoGroup = UINT32_MAX;

size_t MostTreeNodes(size_t parts) {
  return parts < 2 ? kMostTreeNodes : std::max(kLeastTreeNodes, kMostNodesTogether / parts);
}

// The table of a role; kCallTables: none.
size_t CallTableOf(CallRole role) {
  switch (role) {
    case CallRole::kOperator:
      return kOperatorCalls;
    case CallRole::kModule:
      return kModuleCalls;
    case CallRole::kFrame:
      return kFrameCalls;
    default:
      return kCallTables;
  }
}

// Adds up the calls that it is told of.
class CallAdder final : public HostCallVisitor {
 public:
  // `sums` must outlive it.
  CallAdder(const DeviceScope& scope, size_t part, PartCallSums& sums)
      : from_ns_(scope.from_ns(part).value_or(INT64_MIN)), to_ns_(scope.to_ns(part).value_or(INT64_MAX)), sums_(sums) {}

  Status SeeSegments(std::span<const Segment> segments) override {
    RETURN_IF_ERROR(status());
    return sums_.shapes.Read(segments);
  }

  void SeeTrack(uint32_t track) override {
    if (state_ != nullptr && state_->open.empty()) state_->depth = {};
    state_ = &states_[track];
  }

  void Begin(const std::vector<HostCall>& calls) override {
    const HostCall& call = calls.back();
    std::vector<Open>& open = state_->open;
    const size_t at = open.size();
    Open& next = open.emplace_back();
    if (at > 0) {
      next.inner = open[at - 1].inner;
      next.node = open[at - 1].node;
    }
    next.counts = call.begin_ns >= from_ns_ && call.begin_ns < to_ns_;
    const size_t table = CallTableOf(call.role);
    if (table < kCallTables) {
      next.outer = next.inner[table];
      next.inner[table] = static_cast<int32_t>(at);
      next.covered_to_ns = call.begin_ns;
      if (next.outer != kNoNode) Cover(open[static_cast<size_t>(next.outer)], call);
      next.group = GroupOf(table, call);
      next.is_nested = EnterGroup(table, next.group);
    }
    if (next.counts && call.role != CallRole::kFrame && call.role != CallRole::kOther && call.role != CallRole::kStep) {
      next.node = sums_.tree.NodeOf(next.node, call.name, KindOf(call.role));
      if (next.node != kNoNode) ++sums_.tree.node(next.node).count;
    }
    if (call.role == CallRole::kOperator) next.shape = sums_.shapes.Of(call);
    if (call.correlation != kNoValue && next.counts && TakeOnce(call.correlation)) {
      AddWork(open, sums_.work.Of(call.correlation));
    }
    if (next.shape.external_id != kNoValue && next.counts)
      AddWork(open, sums_.work.OfExternalId(next.shape.external_id));
  }

  void End(const std::vector<HostCall>& calls) override {
    const HostCall& call = calls.back();
    std::vector<Open>& open = state_->open;
    const Open& done = open.back();
    const int64_t length = call.end_ns - call.begin_ns;
    const size_t table = CallTableOf(call.role);
    Open* const parent = open.size() > 1 ? &open[open.size() - 2] : nullptr;
    CostSum below = done.below;
    ShapeSum* const shape = done.shape.is_known() ? &sums_.shapes.at(done.shape.number) : nullptr;
    if (shape != nullptr) {
      if (shape->cost) below = shape->cost_sum();
      if (done.counts) {
        ++shape->count;
        shape->host_ns = SaturatingSum(shape->host_ns, length);
        shape->device_ns = SaturatingSum(shape->device_ns, done.device_ns);
        shape->self_device_ns = SaturatingSum(shape->self_device_ns, done.self_device_ns);
      }
    }
    if (table < kCallTables) {
      LeaveGroup(table, done.group);
      if (done.counts) {
        CallSum& sum = sums_.tables[table][done.group];
        ++sum.count;
        sum.self_host_ns = SaturatingSum(sum.self_host_ns, std::max<int64_t>(length - done.covered_ns, 0));
        sum.self_device_ns = SaturatingSum(sum.self_device_ns, done.self_device_ns);
        if (!done.is_nested) {
          sum.host_ns = SaturatingSum(sum.host_ns, length);
          sum.device_ns = SaturatingSum(sum.device_ns, done.device_ns);
          sum.kernels += done.kernels;
        }
        if (table == kOperatorCalls ? shape != nullptr && shape->cost : !done.is_nested) sum.cost.Add(below);
      }
    }
    if (done.counts && done.node != kNoNode && (parent == nullptr || parent->node != done.node)) {
      CallNode& node = sums_.tree.node(done.node);
      node.host_ns = SaturatingSum(node.host_ns, length);
    }
    if (parent != nullptr) {
      parent->device_ns = SaturatingSum(parent->device_ns, done.device_ns);
      parent->kernels += done.kernels;
      parent->below.Add(below);
    }
    open.pop_back();
  }

  Status status() const {
    RETURN_IF_ERROR(status_);
    RETURN_IF_ERROR(sums_.shapes.status());
    return sums_.tree.status();
  }

 private:
  struct Open {
    std::array<int32_t, kCallTables> inner{kNoNode, kNoNode, kNoNode};  // the innermost of each table, itself included
    int32_t outer = kNoNode;                                            // the next of its own table
    int32_t node = kNoNode;                                             // its own, or that of what it is within
    uint32_t group = kNoGroup;
    ShapeOfCall shape;
    bool counts = false;
    bool is_nested = false;  // within a call of its own name
    int64_t covered_ns = 0;  // by calls of its own table
    int64_t covered_to_ns = 0;
    int64_t device_ns = 0;
    int64_t self_device_ns = 0;
    int64_t kernels = 0;
    CostSum below;
  };
  struct State {
    std::vector<Open> open;
    std::array<std::vector<uint32_t>, kCallTables> depth;  // of open calls, by group
  };

  static CallNodeKind KindOf(CallRole role) {
    if (role == CallRole::kOperator) return CallNodeKind::kOperator;
    return role == CallRole::kModule ? CallNodeKind::kModule : CallNodeKind::kAnnotation;
  }

  static void Cover(Open& outer, const HostCall& call) {
    const int64_t from = std::max(call.begin_ns, outer.covered_to_ns);
    if (call.end_ns <= from) return;
    outer.covered_ns += call.end_ns - from;
    outer.covered_to_ns = call.end_ns;
  }

  uint32_t GroupOf(size_t table, const HostCall& call) {
    if (call.number >= groups_.size()) groups_.resize(call.number + 1, kNoGroup);
    uint32_t& group = groups_[call.number];
    if (group == kNoGroup) {
      group = static_cast<uint32_t>(sums_.tables[table].size());
      sums_.tables[table].push_back({.name = call.name});
      Status grown = sums_.charge->Grow(static_cast<int64_t>(sizeof(CallSum) + sizeof(uint32_t)));
      if (status_.ok() && !grown.ok()) status_ = std::move(grown);
    }
    return group;
  }

  // True if a call of it is open already.
  bool EnterGroup(size_t table, uint32_t group) {
    std::vector<uint32_t>& depth = state_->depth[table];
    if (group >= depth.size()) depth.resize(sums_.tables[table].size(), 0);
    return depth[group]++ > 0;
  }
  void LeaveGroup(size_t table, uint32_t group) {
    if (group < state_->depth[table].size()) --state_->depth[table][group];
  }

  // The work of a launch is counted once, also where a trace has its correlation twice.
  bool TakeOnce(int64_t correlation) {
    if (sums_.work.Of(correlation).empty()) return false;
    return taken_.insert(correlation).second;
  }

  void AddWork(std::vector<Open>& open, std::span<const LaunchedSlice> slices) {
    if (slices.empty()) return;
    int64_t sum = 0;
    Open& call = open.back();
    for (const LaunchedSlice& slice : slices) {
      sum = SaturatingSum(sum, slice.length_ns());
      const int32_t node = sums_.tree.NodeOf(call.node, slice.name, CallNodeKind::kKernel);
      if (node == kNoNode) continue;
      CallNode& kernel = sums_.tree.node(node);
      kernel.self_device_ns = SaturatingSum(kernel.self_device_ns, slice.length_ns());
      ++kernel.kernels;
      if (kernel.kind == CallNodeKind::kKernel) ++kernel.count;
    }
    call.device_ns = SaturatingSum(call.device_ns, sum);
    call.kernels += static_cast<int64_t>(slices.size());
    for (const int32_t inner : call.inner) {
      if (inner == kNoNode) continue;
      Open& of = open[static_cast<size_t>(inner)];
      of.self_device_ns = SaturatingSum(of.self_device_ns, sum);
    }
    sums_.of_calls_ns = SaturatingSum(sums_.of_calls_ns, sum);
    if (call.inner[0] != kNoNode) sums_.of_operators_ns = SaturatingSum(sums_.of_operators_ns, sum);
  }

  const int64_t from_ns_;
  const int64_t to_ns_;
  PartCallSums& sums_;
  Status status_;
  std::unordered_map<uint32_t, State> states_;  // by track
  State* state_ = nullptr;
  std::vector<uint32_t> groups_;  // in the table of its role, by a call's number
  std::unordered_set<int64_t> taken_;
};

}  // namespace

Result<PartCallSums> SumCalls(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                              const StopSignal& stop) {
  const TracePart& of = traces.parts()[part];
  auto charge = std::make_unique<MemoryCharge>(traces.take_memory());
  ASSIGN_OR_RETURN(LaunchedWork work, LaunchedWork::Read(traces, part, scope, stop));
  ASSIGN_OR_RETURN(OperatorShapes shapes, OperatorShapes::Find(of, work.has_external_ids(), *charge));
  CallTree tree(MostTreeNodes(traces.parts().size()), *charge);
  PartCallSums sums{.charge = std::move(charge),
                    .work = std::move(work),
                    .shapes = std::move(shapes),
                    .tree = std::move(tree),
                    .tables = {}};
  CallAdder adder(scope, part, sums);
  RETURN_IF_ERROR(VisitHostCalls(of, stop, adder));
  RETURN_IF_ERROR(adder.status());
  return sums;
}

}  // namespace kprof
