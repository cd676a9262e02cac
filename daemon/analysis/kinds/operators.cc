// Which operators, modules and Python frames launched the work of the devices, and how much of it: sums, shapes with
// their arithmetic, and the tree of calls. Docs: docs/analyses/operators.md.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_roof.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/host/operator_categories.h"
#include "daemon/analysis/functions/host/operator_costs.h"
#include "daemon/analysis/functions/launches/launched_work.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/functions/slice_args.h"
#include "daemon/analysis/operators/part_filter.h"
#include "storage/base/memory_charge.h"
#include "storage/trace_sql/tables/strict_json.h"

namespace kprof {
namespace {

enum OperatorTable : size_t {
  kOperatorRows,
  kShapeRows,
  kModuleRows,
  kFrameRows,
  kTreeRows,
  kCoverageRows,
  kCategoryRows
};
constexpr size_t kExternalId = 3;  // its place among the arguments that are read

constexpr size_t kCallTables = 3;               // operators, modules, frames: what has a table of its own
constexpr size_t kMostTreeNodes = 1 << 16;      // of one part
constexpr size_t kMostNodesTogether = 1 << 14;  // of several
constexpr size_t kLeastTreeNodes = 1 << 7;
constexpr int32_t kNoNode = -1;
constexpr uint32_t kNoGroup = UINT32_MAX;

// The table of a role; kCallTables: none.
size_t CallTableOf(CallRole role) {
  switch (role) {
    case CallRole::kOperator:
      return 0;
    case CallRole::kModule:
      return 1;
    case CallRole::kFrame:
      return 2;
    default:
      return kCallTables;
  }
}

struct CostSum {
  int64_t with_flops = 0;  // calls of operators whose arithmetic is known
  int64_t with_bytes = 0;
  double flops = 0;
  double bytes = 0;
  int64_t with_roof = 0;     // of calls
  double roof_ns = 0;        // at the device's peaks
  double compute_bound = 0;  // of roof_ns

  void Add(const CostSum& other) {
    with_flops += other.with_flops;
    with_bytes += other.with_bytes;
    flops += other.flops;
    bytes += other.bytes;
    with_roof += other.with_roof;
    roof_ns += other.roof_ns;
    compute_bound += other.compute_bound;
  }
};

// Calls of one name.
struct CallSum {
  int64_t name = 0;
  int64_t count = 0;
  int64_t host_ns = 0;
  int64_t self_host_ns = 0;
  int64_t device_ns = 0;
  int64_t self_device_ns = 0;
  int64_t kernels = 0;
  CostSum cost;
};

// Calls of one operator with the same inputs.
struct ShapeSum {
  int64_t name = 0;
  std::array<int64_t, 3> inputs{};  // strings' numbers of their sizes, types and values; kNoValue: not recorded
  int64_t count = 0;
  int64_t host_ns = 0;
  int64_t device_ns = 0;
  int64_t self_device_ns = 0;
  std::optional<OperatorCost> cost;  // of one call
  std::optional<RoofTime> roof;      // the same

  CostSum cost_sum() const {
    CostSum sum{.with_flops = cost->flops ? 1 : 0,
                .with_bytes = cost->bytes ? 1 : 0,
                .flops = cost->flops.value_or(0),
                .bytes = cost->bytes.value_or(0)};
    if (roof) {
      sum.with_roof = 1;
      sum.roof_ns = roof->ns;
      sum.compute_bound = roof->is_compute_bound ? roof->ns : 0;
    }
    return sum;
  }
};

enum class NodeKind : uint8_t { kOperator, kModule, kAnnotation, kKernel };

struct TreeNode {
  int64_t name = 0;
  NodeKind kind = NodeKind::kOperator;
  int32_t parent = kNoNode;
  int64_t count = 0;
  int64_t host_ns = 0;
  int64_t self_device_ns = 0;  // launched by it, and by nothing of the tree below it; of a kernel, its own
  int64_t device_ns = 0;
  int64_t kernels = 0;
};

struct NodeKey {
  int32_t parent = 0;
  int64_t name = 0;
  NodeKind kind = NodeKind::kOperator;
  bool operator==(const NodeKey&) const = default;
};
struct NodeKeyHash {
  size_t operator()(const NodeKey& key) const {
    const auto mixed = static_cast<uint64_t>(key.name) * 0x9e3779b97f4a7c15ULL;
    return (mixed ^ (static_cast<uint64_t>(key.parent) << 2 | static_cast<uint64_t>(key.kind))) * 0xff51afd7ed558ccdULL;
  }
};

struct ShapeKey {
  int64_t name = 0;
  std::array<int64_t, 3> inputs{};
  bool operator==(const ShapeKey&) const = default;
};
struct ShapeKeyHash {
  size_t operator()(const ShapeKey& key) const {
    auto hash = static_cast<uint64_t>(key.name);
    for (const int64_t input : key.inputs) hash = (hash ^ static_cast<uint64_t>(input)) * 0xff51afd7ed558ccdULL;
    return hash ^ hash >> 32;
  }
};

// The sums of a part's calls.
class PartCalls : public HostCallVisitor {
 public:
  PartCalls(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, LaunchedWork work, SliceArgs args,
            PartFilter operators, DeviceRoof roof)
      : reader_(*traces.parts()[part].reader),
        from_ns_(scope.from_ns(part).value_or(INT64_MIN)),
        to_ns_(scope.to_ns(part).value_or(INT64_MAX)),
        work_(std::move(work)),
        args_(std::move(args)),
        operators_(std::move(operators)),
        roof_(std::move(roof)),
        charge_(traces.take_memory()),
        most_nodes_(traces.parts().size() < 2 ? kMostTreeNodes
                                              : std::max(kLeastTreeNodes, kMostNodesTogether / traces.parts().size())) {
  }

  Status SeeSegments(std::span<const Segment> segments) override {
    RETURN_IF_ERROR(status_);
    inputs_.clear();
    for (const Segment& segment : segments) {
      RETURN_IF_ERROR(ReadInputs(segment, inputs_[segment.id]));
    }
    return OkStatus();
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
      next.node = NodeOf(next.node, call.name, KindOf(call.role));
      if (next.node != kNoNode) ++nodes_[static_cast<size_t>(next.node)].count;
    }
    if (call.role == CallRole::kOperator) FindShape(call, next);
    if (call.correlation != kNoValue && next.counts && TakeOnce(call.correlation)) {
      AddWork(open, work_.Of(call.correlation));
    }
    if (next.external_id != kNoValue && next.counts) AddWork(open, work_.OfExternalId(next.external_id));
  }

  void End(const std::vector<HostCall>& calls) override {
    const HostCall& call = calls.back();
    std::vector<Open>& open = state_->open;
    const Open& done = open.back();
    const int64_t length = call.end_ns - call.begin_ns;
    const size_t table = CallTableOf(call.role);
    Open* const parent = open.size() > 1 ? &open[open.size() - 2] : nullptr;
    CostSum below = done.below;
    if (done.shape != kNoGroup) {
      ShapeSum& shape = shapes_[done.shape];
      if (shape.cost) below = shape.cost_sum();
      if (done.counts) {
        ++shape.count;
        shape.host_ns = SaturatingSum(shape.host_ns, length);
        shape.device_ns = SaturatingSum(shape.device_ns, done.device_ns);
        shape.self_device_ns = SaturatingSum(shape.self_device_ns, done.self_device_ns);
      }
    }
    if (table < kCallTables) {
      LeaveGroup(table, done.group);
      if (done.counts) {
        CallSum& sum = sums_[table][done.group];
        ++sum.count;
        sum.self_host_ns = SaturatingSum(sum.self_host_ns, std::max<int64_t>(length - done.covered_ns, 0));
        sum.self_device_ns = SaturatingSum(sum.self_device_ns, done.self_device_ns);
        if (!done.is_nested) {
          sum.host_ns = SaturatingSum(sum.host_ns, length);
          sum.device_ns = SaturatingSum(sum.device_ns, done.device_ns);
          sum.kernels += done.kernels;
        }
        if (table == kOperatorRows ? done.shape != kNoGroup && shapes_[done.shape].cost : !done.is_nested) {
          sum.cost.Add(below);
        }
      }
    }
    if (done.counts && done.node != kNoNode && (parent == nullptr || parent->node != done.node)) {
      nodes_[static_cast<size_t>(done.node)].host_ns =
          SaturatingSum(nodes_[static_cast<size_t>(done.node)].host_ns, length);
    }
    if (parent != nullptr) {
      parent->device_ns = SaturatingSum(parent->device_ns, done.device_ns);
      parent->kernels += done.kernels;
      parent->below.Add(below);
    }
    open.pop_back();
  }

  const std::vector<CallSum>& sums(size_t table) const { return sums_[table]; }
  const std::vector<ShapeSum>& shapes() const { return shapes_; }
  std::vector<TreeNode>& nodes() { return nodes_; }
  const LaunchedWork& work() const { return work_; }
  int64_t of_operators_ns() const { return of_operators_ns_; }
  int64_t of_calls_ns() const { return of_calls_ns_; }
  bool is_tree_full() const { return is_tree_full_; }
  size_t most_nodes() const { return most_nodes_; }
  bool has_costs() const { return has_costs_; }
  const DeviceRoof& roof() const { return roof_; }
  Status status() const { return status_; }

 private:
  struct Open {
    std::array<int32_t, kCallTables> inner{kNoNode, kNoNode, kNoNode};  // the innermost of each table, itself included
    int32_t outer = kNoNode;                                            // the next of its own table
    int32_t node = kNoNode;                                             // its own, or that of what it is within
    uint32_t group = kNoGroup;
    uint32_t shape = kNoGroup;
    bool counts = false;
    bool is_nested = false;  // within a call of its own name
    int64_t covered_ns = 0;  // by calls of its own table
    int64_t covered_to_ns = 0;
    int64_t device_ns = 0;
    int64_t self_device_ns = 0;
    int64_t kernels = 0;
    int64_t external_id = kNoValue;
    CostSum below;
  };
  struct State {
    std::vector<Open> open;
    std::array<std::vector<uint32_t>, kCallTables> depth;  // of open calls, by group
  };
  struct CallInputs {
    std::array<int64_t, 3> strings{kNoValue, kNoValue, kNoValue};
    int64_t external_id = kNoValue;
  };
  // Of the operators of a segment.
  struct SegmentInputs {
    std::vector<uint32_t> of_rows;  // by row: an index of `all`; empty: there are none
    std::vector<CallInputs> all;
  };

  static NodeKind KindOf(CallRole role) {
    if (role == CallRole::kOperator) return NodeKind::kOperator;
    return role == CallRole::kModule ? NodeKind::kModule : NodeKind::kAnnotation;
  }

  Status ReadInputs(const Segment& segment, SegmentInputs& inputs) {
    if (args_.never()) return OkStatus();
    const auto see = [&](const Segment& of, const RowSelection& selection) -> Status {
      RETURN_IF_ERROR(args_.Read(of, selection, values_));
      const size_t rows = values_.front().size();
      RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(rows * sizeof(CallInputs) + of.rows * sizeof(uint32_t))));
      inputs.of_rows.assign(of.rows, kNoGroup);
      for (size_t i = 0; i < rows; ++i) {
        CallInputs call;
        for (size_t key = 0; key < call.strings.size(); ++key) {
          if (values_[key][i].is_text()) call.strings[key] = values_[key][i].value;
        }
        const SliceArg& id = values_[kExternalId][i];
        if (work_.has_external_ids() && id.type == ArgType::kInteger) call.external_id = id.value;
        inputs.of_rows[selection.all ? i : selection.rows[i]] = static_cast<uint32_t>(i);
        inputs.all.push_back(call);
      }
      return OkStatus();
    };
    return operators_.ForOne(segment, selection_, see);
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
      group = static_cast<uint32_t>(sums_[table].size());
      sums_[table].push_back({.name = call.name});
      Charge(sizeof(CallSum) + sizeof(uint32_t));
    }
    return group;
  }

  // True if a call of it is open already.
  bool EnterGroup(size_t table, uint32_t group) {
    std::vector<uint32_t>& depth = state_->depth[table];
    if (group >= depth.size()) depth.resize(sums_[table].size(), 0);
    return depth[group]++ > 0;
  }
  void LeaveGroup(size_t table, uint32_t group) {
    if (group < state_->depth[table].size()) --state_->depth[table][group];
  }

  int32_t NodeOf(int32_t parent, int64_t name, NodeKind kind) {
    const auto found = node_numbers_.find({parent, name, kind});
    if (found != node_numbers_.end()) return found->second;
    if (nodes_.size() >= most_nodes_) {
      is_tree_full_ = true;
      return parent;
    }
    const auto number = static_cast<int32_t>(nodes_.size());
    nodes_.push_back({.name = name, .kind = kind, .parent = parent});
    node_numbers_.emplace(NodeKey{parent, name, kind}, number);
    Charge(sizeof(TreeNode) + sizeof(NodeKey) + 32);
    return number;
  }

  void FindShape(const HostCall& call, Open& open) {
    if (call.segment == nullptr) return;
    const auto of_segment = inputs_.find(call.segment->id);
    if (of_segment == inputs_.end()) return;
    const SegmentInputs& of_calls = of_segment->second;
    if (call.row >= of_calls.of_rows.size() || of_calls.of_rows[call.row] == kNoGroup) return;
    const CallInputs& inputs = of_calls.all[of_calls.of_rows[call.row]];
    open.external_id = inputs.external_id;
    if (inputs.strings[0] == kNoValue) return;
    const auto [found, is_new] =
        shape_numbers_.try_emplace({call.name, inputs.strings}, static_cast<uint32_t>(shapes_.size()));
    if (is_new) {
      ShapeSum shape{.name = call.name, .inputs = inputs.strings};
      NoteFailure(FindCost(shape));
      shapes_.push_back(shape);
      Charge(sizeof(ShapeSum) + sizeof(ShapeKey) + 32);
    }
    open.shape = found->second;
  }

  Status FindCost(ShapeSum& shape) {
    std::array<std::string, 4> texts;
    ASSIGN_OR_RETURN(texts[0], reader_.ReadString(shape.name));
    for (size_t i = 0; i < shape.inputs.size(); ++i) {
      if (shape.inputs[i] == kNoValue) continue;
      ASSIGN_OR_RETURN(texts[i + 1], reader_.ReadString(shape.inputs[i]));
    }
    shape.cost = CostOfOperator(texts[0], texts[1], texts[2], texts[3]);
    if (shape.cost) shape.roof = roof_.TimeOf(*shape.cost, texts[2]);
    has_costs_ |= shape.cost.has_value();
    return OkStatus();
  }

  // The work of a launch is counted once, also where a trace has its correlation twice.
  bool TakeOnce(int64_t correlation) {
    if (work_.Of(correlation).empty()) return false;
    return taken_.insert(correlation).second;
  }

  void AddWork(std::vector<Open>& open, std::span<const LaunchedSlice> slices) {
    if (slices.empty()) return;
    int64_t sum = 0;
    Open& call = open.back();
    for (const LaunchedSlice& slice : slices) {
      sum = SaturatingSum(sum, slice.length_ns());
      const int32_t node = NodeOf(call.node, slice.name, NodeKind::kKernel);
      if (node == kNoNode) continue;
      TreeNode& kernel = nodes_[static_cast<size_t>(node)];
      kernel.self_device_ns = SaturatingSum(kernel.self_device_ns, slice.length_ns());
      ++kernel.kernels;
      if (kernel.kind == NodeKind::kKernel) ++kernel.count;
    }
    call.device_ns = SaturatingSum(call.device_ns, sum);
    call.kernels += static_cast<int64_t>(slices.size());
    for (const int32_t inner : call.inner) {
      if (inner == kNoNode) continue;
      Open& of = open[static_cast<size_t>(inner)];
      of.self_device_ns = SaturatingSum(of.self_device_ns, sum);
    }
    of_calls_ns_ = SaturatingSum(of_calls_ns_, sum);
    if (call.inner[0] != kNoNode) of_operators_ns_ = SaturatingSum(of_operators_ns_, sum);
  }

  void Charge(size_t bytes) { NoteFailure(charge_.Grow(static_cast<int64_t>(bytes))); }
  void NoteFailure(Status status) {
    if (status_.ok() && !status.ok()) status_ = std::move(status);
  }

  PartReader& reader_;
  const int64_t from_ns_;
  const int64_t to_ns_;
  const LaunchedWork work_;
  SliceArgs args_;
  PartFilter operators_;
  DeviceRoof roof_;
  MemoryCharge charge_;
  Status status_;
  RowSelection selection_;
  std::vector<std::vector<SliceArg>> values_;

  std::unordered_map<int64_t, SegmentInputs> inputs_;  // by segment
  std::unordered_map<uint32_t, State> states_;         // by track
  State* state_ = nullptr;
  std::vector<uint32_t> groups_;  // in the table of its role, by a call's number
  std::array<std::vector<CallSum>, kCallTables> sums_;
  std::unordered_map<ShapeKey, uint32_t, ShapeKeyHash> shape_numbers_;
  std::vector<ShapeSum> shapes_;
  std::unordered_map<NodeKey, int32_t, NodeKeyHash> node_numbers_;
  std::vector<TreeNode> nodes_;
  std::unordered_set<int64_t> taken_;
  int64_t of_operators_ns_ = 0;
  int64_t of_calls_ns_ = 0;
  const size_t most_nodes_;
  bool is_tree_full_ = false;
  bool has_costs_ = false;  // of an operator
};

// All that the answer about one part is made of.
struct AnsweredPart {
  const AnalysisTraces& traces;
  size_t part = 0;
  PartCalls& calls;
  AnalysisAnswer& answer;
  size_t most_rows = 0;

  PartReader& reader() const { return *traces.parts()[part].reader; }
  AnalysisValue run() const { return traces.run(part); }
  AnalysisValue rank() const { return ValueOf(traces.parts()[part].rank); }
  AnalysisValue percent(int64_t ns) const { return PercentOf(ns, calls.work().sum_ns()); }
};

// `amount` in `ns`, in thousands of millions (or, with `scale` 1e3, in millions of millions) a second; nothing for no
// time.
AnalysisValue CostRateOf(double amount, int64_t ns, double scale) {
  return ns > 0 ? AnalysisValue(amount / static_cast<double>(ns) / scale) : AnalysisValue();
}
// roof_ns of ns. More than 100 where caches have the data already.
AnalysisValue PeakPercentOf(double roof_ns, int64_t ns) {
  return ns > 0 ? AnalysisValue(100 * roof_ns / static_cast<double>(ns)) : AnalysisValue();
}
AnalysisValue BoundName(bool is_compute_bound) {
  return std::string(is_compute_bound ? "compute" : "memory");
}
constexpr double kGiga = 1;  // a byte in a nanosecond is 1 GB/s
constexpr double kTera = 1e3;

template <typename Sum, typename Order>
std::vector<const Sum*> SortedSums(const std::vector<Sum>& sums, const Order& order, size_t most) {
  std::vector<const Sum*> sorted;
  for (const Sum& sum : sums) {
    if (sum.count > 0) sorted.push_back(&sum);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Sum* a, const Sum* b) { return order(*a) > order(*b); });
  if (sorted.size() > most) sorted.resize(most);
  return sorted;
}

Status AddCallRows(const AnsweredPart& of, size_t table, size_t calls) {
  const auto by_self = [](const CallSum& sum) {
    return std::array{sum.self_device_ns, sum.device_ns, sum.self_host_ns};
  };
  const auto by_all = [](const CallSum& sum) { return std::array{sum.device_ns, sum.self_device_ns, sum.host_ns}; };
  const std::vector<CallSum>& sums = of.calls.sums(calls);
  for (const CallSum* sum :
       table == kModuleRows ? SortedSums(sums, by_all, of.most_rows) : SortedSums(sums, by_self, of.most_rows)) {
    ASSIGN_OR_RETURN(const std::string text, of.reader().ReadString(sum->name));
    std::string name(NameOfCall(text));
    // Of an operator all calls must be known; a module has those of its operators that are.
    const auto is_known = [&](int64_t with) { return with > 0 && (table != kOperatorRows || with == sum->count); };
    const bool has_flops = is_known(sum->cost.with_flops);
    const bool has_bytes = is_known(sum->cost.with_bytes);
    const AnalysisValue flops = has_flops ? AnalysisValue(sum->cost.flops) : AnalysisValue();
    const AnalysisValue bytes = has_bytes ? AnalysisValue(sum->cost.bytes) : AnalysisValue();
    const AnalysisValue flop_rate = has_flops ? CostRateOf(sum->cost.flops, sum->device_ns, kTera) : AnalysisValue();
    const bool has_roof = has_flops && has_bytes && sum->cost.with_roof == sum->cost.with_flops && sum->device_ns > 0;
    const AnalysisValue of_peak = has_roof ? PeakPercentOf(sum->cost.roof_ns, sum->device_ns) : AnalysisValue();
    const AnalysisValue bound = has_roof ? BoundName(2 * sum->cost.compute_bound > sum->cost.roof_ns) : AnalysisValue();
    const AnalysisValue byte_rate = has_bytes ? CostRateOf(sum->cost.bytes, sum->device_ns, kGiga) : AnalysisValue();
    if (table == kModuleRows) {
      RETURN_IF_ERROR(of.answer.AddRow(
          table, {of.run(), of.rank(), std::move(name), sum->device_ns, of.percent(sum->device_ns), sum->self_device_ns,
                  sum->kernels, sum->count, sum->host_ns, sum->self_host_ns, flop_rate, flops}));
    } else if (table == kFrameRows) {
      RETURN_IF_ERROR(of.answer.AddRow(
          table, {of.run(), of.rank(), std::move(name), sum->self_device_ns, of.percent(sum->self_device_ns),
                  sum->device_ns, sum->kernels, sum->count, sum->host_ns, sum->self_host_ns}));
    } else {
      RETURN_IF_ERROR(
          of.answer.AddRow(table, {of.run(), of.rank(), std::move(name), sum->self_device_ns,
                                   of.percent(sum->self_device_ns), sum->count, of_peak, bound, flop_rate, byte_rate,
                                   sum->device_ns, sum->kernels, sum->host_ns, sum->self_host_ns, flops, bytes}));
    }
  }
  return OkStatus();
}

Status AddShapeRows(const AnsweredPart& of) {
  const auto order = [](const ShapeSum& sum) { return std::array{sum.device_ns, sum.host_ns}; };
  for (const ShapeSum* sum : SortedSums(of.calls.shapes(), order, of.most_rows)) {
    std::array<AnalysisValue, 4> texts;
    ASSIGN_OR_RETURN(texts[0], of.reader().ReadString(sum->name));
    for (size_t i = 0; i < sum->inputs.size(); ++i) {
      if (sum->inputs[i] == kNoValue) continue;
      ASSIGN_OR_RETURN(const std::string text, of.reader().ReadString(sum->inputs[i]));
      std::string json;
      AppendStrictJson(text, json);
      texts[i + 1] = std::move(json);
    }
    AnalysisValue flops;
    AnalysisValue bytes;
    AnalysisValue flop_rate;
    AnalysisValue byte_rate;
    AnalysisValue intensity;
    AnalysisValue of_peak;
    AnalysisValue bound;
    if (sum->roof && sum->device_ns > 0) {
      of_peak = PeakPercentOf(sum->roof->ns * static_cast<double>(sum->count), sum->device_ns);
      bound = BoundName(sum->roof->is_compute_bound);
    }
    if (sum->cost) {
      const auto count = static_cast<double>(sum->count);
      if (sum->cost->flops) {
        flops = *sum->cost->flops;
        flop_rate = CostRateOf(*sum->cost->flops * count, sum->device_ns, kTera);
      }
      if (sum->cost->bytes) {
        bytes = *sum->cost->bytes;
        byte_rate = CostRateOf(*sum->cost->bytes * count, sum->device_ns, kGiga);
        if (sum->cost->flops && *sum->cost->bytes > 0) intensity = *sum->cost->flops / *sum->cost->bytes;
      }
    }
    RETURN_IF_ERROR(of.answer.AddRow(
        kShapeRows, {of.run(), of.rank(), texts[0], texts[1], sum->device_ns, sum->count, flop_rate, byte_rate,
                     intensity, of_peak, bound, flops, bytes, texts[2], texts[3], sum->self_device_ns, sum->host_ns}));
  }
  return OkStatus();
}

// A category has its operators' own work: added up, categories have what operators launched.
Status AddCategoryRows(const AnsweredPart& of) {
  struct CategorySum {
    OperatorCategory category = OperatorCategory::kOther;
    int64_t count = 0;
    int64_t self_device_ns = 0;
  };
  std::vector<CategorySum> sums(kOperatorCategories);
  for (const CallSum& call : of.calls.sums(0)) {
    if (call.count == 0) continue;
    ASSIGN_OR_RETURN(const std::string text, of.reader().ReadString(call.name));
    const OperatorCategory category = CategoryOfOperator(NameOfCall(text));
    CategorySum& sum = sums[static_cast<size_t>(category)];
    sum.category = category;
    sum.count += call.count;
    sum.self_device_ns = SaturatingSum(sum.self_device_ns, call.self_device_ns);
  }
  for (const CategorySum* sum : SortedSums(
           sums, [](const CategorySum& one) { return one.self_device_ns; }, of.most_rows)) {
    RETURN_IF_ERROR(
        of.answer.AddRow(kCategoryRows, {of.run(), of.rank(), std::string(OperatorCategoryName(sum->category)),
                                         sum->self_device_ns, of.percent(sum->self_device_ns), sum->count}));
  }
  return OkStatus();
}

std::string_view NodeKindName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kOperator:
      return "operator";
    case NodeKind::kModule:
      return "module";
    case NodeKind::kAnnotation:
      return "annotation";
    case NodeKind::kKernel:
      break;
  }
  return "kernel";
}

// Depth first: each node before what is below it, the longest first.
Status AddTreeRows(const AnsweredPart& of) {
  std::vector<TreeNode>& nodes = of.calls.nodes();
  std::vector<std::vector<int32_t>> below(nodes.size() + 1);  // the last: roots
  const auto parent_of = [&](const TreeNode& node) {
    return node.parent == kNoNode ? nodes.size() : static_cast<size_t>(node.parent);
  };
  // A node has a larger number than its parent.
  for (size_t i = nodes.size(); i-- > 0;) {
    TreeNode& node = nodes[i];
    node.device_ns = SaturatingSum(node.device_ns, node.self_device_ns);
    below[parent_of(node)].push_back(static_cast<int32_t>(i));
    if (node.parent == kNoNode) continue;
    TreeNode& parent = nodes[static_cast<size_t>(node.parent)];
    parent.device_ns = SaturatingSum(parent.device_ns, node.device_ns);
    parent.kernels += node.kernels;
  }
  for (std::vector<int32_t>& children : below) {
    std::sort(children.begin(), children.end(), [&](int32_t a, int32_t b) {
      const TreeNode& one = nodes[static_cast<size_t>(a)];
      const TreeNode& other = nodes[static_cast<size_t>(b)];
      return std::tuple(-one.device_ns, -one.host_ns, a) < std::tuple(-other.device_ns, -other.host_ns, b);
    });
  }
  struct Place {
    size_t node = 0;
    size_t next = 0;  // of those below it
    int64_t id = 0;
  };
  std::vector<Place> path = {{nodes.size(), 0, kNoNode}};
  int64_t id = 0;
  while (!path.empty()) {
    Place& place = path.back();
    if (place.next == below[place.node].size()) {
      path.pop_back();
      continue;
    }
    const auto at = static_cast<size_t>(below[place.node][place.next++]);
    const TreeNode& node = nodes[at];
    ASSIGN_OR_RETURN(const std::string text, of.reader().ReadString(node.name));
    std::string name(node.kind == NodeKind::kOperator ? NameOfCall(text) : text);
    const bool is_kernel = node.kind == NodeKind::kKernel;
    RETURN_IF_ERROR(of.answer.AddRow(
        kTreeRows, {of.run(), of.rank(), static_cast<int64_t>(path.size()) - 1, std::move(name), node.device_ns,
                    of.percent(node.device_ns), node.kernels, node.count,
                    is_kernel ? AnalysisValue() : AnalysisValue(node.host_ns), std::string(NodeKindName(node.kind)), id,
                    place.id == kNoNode ? AnalysisValue() : AnalysisValue(place.id)}));
    path.push_back({at, 0, id++});
  }
  return OkStatus();
}

Status AnswerOperatorsOf(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop,
                         PartNotes& notes, AnalysisAnswer& answer) {
  const TracePart& of = traces.parts()[part];
  if (of.reader->rows(EventKind::kSlice) == 0) {
    // The part `samples` of a run has none, and nobody expects any.
    if (of.rank || traces.parts().size() == 1) notes.Add(part, "no operators: it has no slices");
    return OkStatus();
  }
  ASSIGN_OR_RETURN(LaunchedWork work, LaunchedWork::Read(traces, part, scope, stop));
  ASSIGN_OR_RETURN(SliceArgs args,
                   SliceArgs::Find(*of.reader, {"Input Dims", "Input type", "Concrete Inputs", "External id"}));
  EventFilter filter;
  filter.categories = {"cpu_op", "Operator"};
  ASSIGN_OR_RETURN(PartFilter operators, PartFilter::Bind(filter, of, EventKind::kSlice));
  DeviceRoof roof;
  if (!args.never()) {
    ASSIGN_OR_RETURN(roof, DeviceRoof::Find(of));
  }
  PartCalls calls(traces, part, scope, std::move(work), std::move(args), std::move(operators), std::move(roof));
  RETURN_IF_ERROR(VisitHostCalls(of, stop, calls));
  RETURN_IF_ERROR(calls.status());
  const AnsweredPart answered{traces, part, calls, answer, RowsOfPart(traces)};
  RETURN_IF_ERROR(AddCallRows(answered, kOperatorRows, 0));
  RETURN_IF_ERROR(AddShapeRows(answered));
  RETURN_IF_ERROR(AddCallRows(answered, kModuleRows, 1));
  RETURN_IF_ERROR(AddCallRows(answered, kFrameRows, 2));
  RETURN_IF_ERROR(AddTreeRows(answered));
  RETURN_IF_ERROR(AddCategoryRows(answered));
  int64_t without_ns = 0;
  for (const LaunchedSlice& slice : calls.work().without()) without_ns = SaturatingSum(without_ns, slice.length_ns());
  const int64_t all_ns = calls.work().sum_ns();
  RETURN_IF_ERROR(answer.AddRow(kCoverageRows, {answered.run(), answered.rank(), all_ns, calls.work().slices(),
                                                calls.of_operators_ns(), answered.percent(calls.of_operators_ns()),
                                                calls.of_calls_ns() - calls.of_operators_ns(), without_ns}));
  if (calls.sums(0).empty()) {
    notes.Add(part, "no operators: nothing of the category cpu_op was recorded");
  } else if (calls.shapes().empty()) {
    notes.Add(part, "no shapes of operators were recorded (record_shapes=True), so their arithmetic is not known");
  }
  if (calls.has_costs() && calls.work().slices() > 0) notes.Add(part, calls.roof().Text());
  if (without_ns > 0) {
    notes.Add(part, "the launch of " + std::to_string(calls.work().without().size()) + " of " +
                        std::to_string(calls.work().slices()) +
                        " kernels and copies is not in the trace, so no call has them");
  }
  if (calls.work().slices() == 0) notes.Add(part, "no kernels: nothing ran on a device" + scope.TextOfBounds());
  const size_t most =
      std::max({calls.sums(0).size(), calls.sums(1).size(), calls.sums(2).size(), calls.shapes().size()});
  if (most > answered.most_rows) {
    notes.Add(part, "of each table the " + std::to_string(answered.most_rows) +
                        " rows that cost most; --rank, --step or --from and --to ask for more of a part");
  }
  if (calls.is_tree_full()) {
    notes.Add(part, "tree: it has the first " + std::to_string(calls.most_nodes()) +
                        " nodes; what lies below others counts for the node above");
  }
  return OkStatus();
}

Result<AnalysisAnswer> AnswerOperators(const AnalysisTraces& traces, const AnalysisOptions& options,
                                       const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  PartNotes notes;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(StillWanted(stop));
    if (!scope.never(part)) RETURN_IF_ERROR(AnswerOperatorsOf(traces, part, scope, stop, notes, answer));
  }
  notes.AddTo(traces, answer);
  return answer;
}

}  // namespace

AnalysisKind Operators() {
  using enum AnalysisType;
  constexpr const char* kRun = "The run";
  constexpr const char* kRank = "The rank; null where nobody knows it";
  return {
      .name = "operators",
      .version = 1,
      .question = "Which operators, modules and Python frames launched the work of the devices?",
      .options = {kTraceScope},
      .tables =
          {{"operators",
            {{"run", kText, "", kRun, true},
             {"rank", kInteger, "", kRank},
             {"name", kText, "", "The operator"},
             {"self_device_ns", kInteger, "ns", "Work of devices that it launched, and no operator within it"},
             {"percent", kReal, "percent", "self_device_ns of all work of the devices"},
             {"count", kInteger, "", "How often it was called"},
             {"peak_percent", kReal, "percent", "The least time at the device's peaks, of device_ns; null: not known"},
             {"bound", kText, "", "What bounds most of that: compute or memory; null: not known"},
             {"tflop_s", kReal, "tflop_s", "flops in device_ns"},
             {"gb_s", kReal, "gb_s", "bytes in device_ns"},
             {"device_ns", kInteger, "ns", "Work of devices that it launched, or what is within it"},
             {"kernels", kInteger, "", "How many kernels and copies that is"},
             {"host_ns", kInteger, "ns", "How long its calls took"},
             {"self_host_ns", kInteger, "ns", "Of that, not in operators within it"},
             {"flops", kReal, "flops", "Arithmetic of all of its calls; null where that of one is not known"},
             {"bytes", kReal, "bytes", "What all of its calls move at least"}}},
           {"shapes",
            {{"run", kText, "", kRun, true},
             {"rank", kInteger, "", kRank},
             {"name", kText, "", "The operator"},
             {"input_dims", kJson, "", "The sizes of its inputs"},
             {"device_ns", kInteger, "ns", "Work of devices that it launched, or what is within it"},
             {"count", kInteger, "", "How often it was called with these inputs"},
             {"tflop_s", kReal, "tflop_s", "flops of all calls in device_ns"},
             {"gb_s", kReal, "gb_s", "bytes of all calls in device_ns"},
             {"flop_per_byte", kReal, "flop_per_byte", "flops for each of bytes"},
             {"peak_percent", kReal, "percent", "The least time at the device's peaks, of device_ns; null: not known"},
             {"bound", kText, "", "What bounds that: compute or memory; null: not known"},
             {"flops", kReal, "flops", "Arithmetic of one call; null where it is not known"},
             {"bytes", kReal, "bytes", "What one call moves at least: inputs and result, once each"},
             {"input_types", kJson, "", "The types of its inputs"},
             {"inputs", kJson, "", "The values of its inputs that are no tensors"},
             {"self_device_ns", kInteger, "ns", "Work of devices that it launched, and no operator within it"},
             {"host_ns", kInteger, "ns", "How long its calls took"}}},
           {"modules",
            {{"run", kText, "", kRun, true},
             {"rank", kInteger, "", kRank},
             {"name", kText, "", "The module: nn.Module: ..."},
             {"device_ns", kInteger, "ns", "Work of devices that was launched within it"},
             {"percent", kReal, "percent", "device_ns of all work of the devices"},
             {"self_device_ns", kInteger, "ns", "Of that, in no module within it"},
             {"kernels", kInteger, "", "How many kernels and copies device_ns is"},
             {"count", kInteger, "", "How often it was called"},
             {"host_ns", kInteger, "ns", "How long its calls took"},
             {"self_host_ns", kInteger, "ns", "Of that, not in modules within it"},
             {"tflop_s", kReal, "tflop_s", "flops in device_ns"},
             {"flops", kReal, "flops", "Arithmetic of its operators of which it is known"}}},
           {"frames",
            {{"run", kText, "", kRun, true},
             {"rank", kInteger, "", kRank},
             {"name", kText, "", "The Python function, with its file and line"},
             {"self_device_ns", kInteger, "ns", "Work of devices that it launched, and no Python function within it"},
             {"percent", kReal, "percent", "self_device_ns of all work of the devices"},
             {"device_ns", kInteger, "ns", "Work of devices that it launched, or what is within it"},
             {"kernels", kInteger, "", "How many kernels and copies that is"},
             {"count", kInteger, "", "How often it was called"},
             {"host_ns", kInteger, "ns", "How long its calls took"},
             {"self_host_ns", kInteger, "ns", "Of that, not in Python functions within it"}}},
           {"tree",
            {{"run", kText, "", kRun, true},
             {"rank", kInteger, "", kRank},
             {"depth", kInteger, "", "0 for what is within nothing"},
             {"name", kText, "", "The operator, module, annotation or kernel"},
             {"device_ns", kInteger, "ns", "Work of devices in it and below it"},
             {"percent", kReal, "percent", "device_ns of all work of the devices"},
             {"kernels", kInteger, "", "How many kernels and copies that is"},
             {"count", kInteger, "", "How often it was called here, or ran"},
             {"host_ns", kInteger, "ns", "How long its calls took; null for kernels"},
             {"kind", kText, "", "operator, module, annotation or kernel"},
             {"id", kInteger, "", "Its number within the rank: before those of all below it"},
             {"parent", kInteger, "", "The id of what it is in; null: it is in nothing"}}},
           {"coverage",
            {{"run", kText, "", kRun, true},
             {"rank", kInteger, "", kRank},
             {"device_ns", kInteger, "ns", "All work of the devices of the trace, added up"},
             {"kernels", kInteger, "", "How many kernels and copies that is"},
             {"of_operators_ns", kInteger, "ns", "Launched by operators that were asked for"},
             {"of_operators_percent", kReal, "percent", "of_operators_ns of device_ns"},
             {"outside_operators_ns", kInteger, "ns", "Launched outside any operator: by a CUDA graph, by Triton"},
             {"without_launch_ns", kInteger, "ns",
              "Nobody knows the launch: it was before the trace, or not recorded"}}},
           {"categories",
            {{"run", kText, "", kRun, true},
             {"rank", kInteger, "", kRank},
             {"category", kText, "",
              "By the operator's name: gemm, convolution, attention, normalisation, elementwise, reduction, "
              "communication, copy, other"},
             {"self_device_ns", kInteger, "ns", "Work of devices that its operators launched, and none within them"},
             {"percent", kReal, "percent", "self_device_ns of all work of the devices"},
             {"count", kInteger, "", "How often its operators were called"}}}},
      .answer = &AnswerOperators};
}

}  // namespace kprof
