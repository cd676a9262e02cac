// Which operators, modules and Python frames launched the work of the devices, and how much of it: sums, shapes with
// their arithmetic, and the tree of calls. Docs: docs/analyses/operators.md.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/call_sums.h"
#include "daemon/analysis/functions/host/call_tree.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/host/operator_categories.h"
#include "daemon/analysis/functions/host/operator_shapes.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/functions/part_notes.h"
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

// All that the answer about one part is made of.
struct AnsweredPart {
  const AnalysisTraces& traces;
  size_t part = 0;
  PartCallSums& calls;
  AnalysisAnswer& answer;
  size_t most_rows = 0;

  PartReader& reader() const { return *traces.parts()[part].reader; }
  AnalysisValue run() const { return traces.run(part); }
  AnalysisValue rank() const { return ValueOf(traces.parts()[part].rank); }
  AnalysisValue percent(int64_t ns) const { return PercentOf(ns, calls.work.sum_ns()); }
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

Status AddCallRows(const AnsweredPart& of, OperatorTable table, CallTable calls) {
  const auto by_self = [](const CallSum& sum) {
    return std::array{sum.self_device_ns, sum.device_ns, sum.self_host_ns};
  };
  const auto by_all = [](const CallSum& sum) { return std::array{sum.device_ns, sum.self_device_ns, sum.host_ns}; };
  const std::vector<CallSum>& sums = of.calls.tables[calls];
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
  for (const ShapeSum* sum : SortedSums(of.calls.shapes.shapes(), order, of.most_rows)) {
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
  for (const CallSum& call : of.calls.tables[kOperatorCalls]) {
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

Status AddTreeRows(const AnsweredPart& of) {
  int64_t id = 0;
  for (const CallTree::Place& place : of.calls.tree.InOrder()) {
    const CallNode& node = *place.node;
    ASSIGN_OR_RETURN(const std::string text, of.reader().ReadString(node.name));
    std::string name(node.kind == CallNodeKind::kOperator ? NameOfCall(text) : text);
    const bool is_kernel = node.kind == CallNodeKind::kKernel;
    RETURN_IF_ERROR(of.answer.AddRow(
        kTreeRows, {of.run(), of.rank(), place.depth, std::move(name), node.device_ns, of.percent(node.device_ns),
                    node.kernels, node.count, is_kernel ? AnalysisValue() : AnalysisValue(node.host_ns),
                    std::string(CallNodeKindName(node.kind)), id++,
                    place.parent_id == kNoNode ? AnalysisValue() : AnalysisValue(place.parent_id)}));
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
  ASSIGN_OR_RETURN(PartCallSums calls, SumCalls(traces, part, scope, stop));
  const AnsweredPart answered{traces, part, calls, answer, RowsOfPart(traces)};
  RETURN_IF_ERROR(AddCallRows(answered, kOperatorRows, kOperatorCalls));
  RETURN_IF_ERROR(AddShapeRows(answered));
  RETURN_IF_ERROR(AddCallRows(answered, kModuleRows, kModuleCalls));
  RETURN_IF_ERROR(AddCallRows(answered, kFrameRows, kFrameCalls));
  RETURN_IF_ERROR(AddTreeRows(answered));
  RETURN_IF_ERROR(AddCategoryRows(answered));
  int64_t without_ns = 0;
  for (const LaunchedSlice& slice : calls.work.without()) without_ns = SaturatingSum(without_ns, slice.length_ns());
  const int64_t all_ns = calls.work.sum_ns();
  RETURN_IF_ERROR(answer.AddRow(
      kCoverageRows, {answered.run(), answered.rank(), all_ns, calls.work.slices(), calls.of_operators_ns,
                      answered.percent(calls.of_operators_ns), calls.of_calls_ns - calls.of_operators_ns, without_ns}));
  if (calls.tables[kOperatorCalls].empty()) {
    notes.Add(part, "no operators: nothing of the category cpu_op was recorded");
  } else if (calls.shapes.shapes().empty()) {
    notes.Add(part, "no shapes of operators were recorded (record_shapes=True), so their arithmetic is not known");
  }
  if (calls.shapes.has_costs() && calls.work.slices() > 0) notes.Add(part, calls.shapes.roof().Text());
  if (without_ns > 0) {
    notes.Add(part, "the launch of " + std::to_string(calls.work.without().size()) + " of " +
                        std::to_string(calls.work.slices()) +
                        " kernels and copies is not in the trace, so no call has them");
  }
  if (calls.work.slices() == 0) notes.Add(part, "no kernels: nothing ran on a device" + scope.TextOfBounds());
  const size_t most = std::max({calls.tables[kOperatorCalls].size(), calls.tables[kModuleCalls].size(),
                                calls.tables[kFrameCalls].size(), calls.shapes.shapes().size()});
  if (most > answered.most_rows) {
    notes.Add(part, "of each table the " + std::to_string(answered.most_rows) +
                        " rows that cost most; --rank, --step or --from and --to ask for more of a part");
  }
  if (calls.tree.is_full()) {
    notes.Add(part, "tree: it has the first " + std::to_string(calls.tree.most_nodes()) +
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
