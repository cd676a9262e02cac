// Which types of work took the time of devices, and which kernels. Docs: docs/analyses/kernel-breakdown.md.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/device_times.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/hta_rows.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/functions/launches/launch_contexts.h"
#include "daemon/analysis/operators/aggregate.h"

namespace kprof {
namespace {

enum KernelTable : size_t { kByType, kKernels, kByOperator };

constexpr AnalysisOption kKernelOptions[] = {
    {"operators", AnalysisType::kBoolean, "false", "",
     "Also table by_operator: kernels by the operator and the module that launched them"},
};
constexpr int kHtaDigitsOfTypes = 1;
constexpr double kKernelPercentiles[] = {50, 99};

struct KernelSum {
  size_t part = 0;
  std::string name;
  KernelType type = KernelType::kCompute;
  Aggregate times;
};

// "compute+memory": both at once.
std::string TextOfTypes(size_t types) {
  std::string text;
  for (size_t type = 0; type < kKernelTypes; ++type) {
    if ((types >> type & 1) == 0) continue;
    text += (text.empty() ? "" : "+") + std::string(KernelTypeName(static_cast<KernelType>(type)));
  }
  return text;
}

Status AddTypes(const AnalysisTraces& traces, const AnalysisOptions& options, const StopSignal& stop,
                AnalysisAnswer& answer) {
  ASSIGN_OR_RETURN(const std::vector<DeviceTimes> times, FindDeviceTimes(traces, options, stop, answer));
  std::map<std::string, decltype(DeviceTimes::at_once_ns)> of_runs;
  for (const DeviceTimes& of : times) {
    auto& sums = of_runs[traces.run(of.part)];
    for (size_t types = 1; types < sums.size(); ++types) sums[types] += of.at_once_ns[types];
  }
  for (const auto& [run, sums] : of_runs) {
    int64_t all = 0;
    std::vector<std::pair<int64_t, size_t>> order;  // the longest first
    for (size_t types = 1; types < sums.size(); ++types) {
      all += sums[types];
      if (sums[types] > 0) order.emplace_back(-sums[types], types);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [negative, types] : order) {
      const bool is_hta = options.text("window") == "hta";
      const AnalysisValue percent =
          is_hta ? HtaPercent(sums[types], all, kHtaDigitsOfTypes) : PercentOf(sums[types], all);
      RETURN_IF_ERROR(answer.AddRow(kByType, {run, TextOfTypes(types), sums[types], percent}));
    }
  }
  return OkStatus();
}

Status FindExactKernels(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop,
                        std::vector<KernelSum>& kernels) {
  AggregateRequest request{.filter = scope.WorkOf(part), .by = {GroupBy::kName}, .take_memory = traces.take_memory()};
  request.percentiles.assign(std::begin(kKernelPercentiles), std::end(kKernelPercentiles));
  ASSIGN_OR_RETURN(std::vector<Aggregate> found, AggregateEvents(traces.parts().subspan(part, 1), request, stop));
  for (Aggregate& times : found) {
    std::string name = std::get<std::string>(times.key.front());
    const KernelType type = TypeOfKernel(name);
    kernels.push_back({part, std::move(name), type, std::move(times)});
  }
  return OkStatus();
}

Status FindHtaKernels(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop,
                      std::vector<KernelSum>& kernels) {
  ASSIGN_OR_RETURN(const HtaRows read, HtaRows::Read(traces, part, scope, stop));
  MemoryCharge charge(traces.take_memory());
  RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(read.rows().size() * sizeof(int64_t))));
  std::map<std::pair<int64_t, KernelType>, std::vector<int64_t>> durations;
  for (const HtaRow& row : read.rows()) durations[{row.name, row.type}].push_back(row.end_ns - row.begin_ns);
  for (auto& [key, values] : durations) {
    std::sort(values.begin(), values.end());
    KernelSum kernel{.part = part, .type = key.second};
    ASSIGN_OR_RETURN(kernel.name, traces.parts()[part].reader->ReadString(key.first));
    Aggregate& times = kernel.times;
    times.count = times.ended = static_cast<int64_t>(values.size());
    for (const int64_t value : values) times.sum_ns += value;
    times.min_ns = values.front();
    times.max_ns = values.back();
    for (const double percentile : kKernelPercentiles) {
      const double place = std::ceil(percentile / 100 * static_cast<double>(values.size()));
      times.percentiles_ns.push_back(values[static_cast<size_t>(place) - 1]);
    }
    kernels.push_back(std::move(kernel));
  }
  return OkStatus();
}

Status AddKernels(const AnalysisTraces& traces, const AnalysisOptions& options, const StopSignal& stop,
                  AnalysisAnswer& answer) {
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  std::vector<KernelSum> kernels;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    const auto find = scope.is_hta() ? FindHtaKernels : FindExactKernels;
    RETURN_IF_ERROR(find(traces, part, scope, stop, kernels));
  }
  std::vector<int64_t> all_of_parts(traces.parts().size(), 0);
  for (const KernelSum& kernel : kernels) all_of_parts[kernel.part] += kernel.times.sum_ns;
  std::sort(kernels.begin(), kernels.end(), [](const KernelSum& a, const KernelSum& b) {
    return std::tie(b.times.sum_ns, a.part, a.name) < std::tie(a.times.sum_ns, b.part, b.name);
  });
  for (const KernelSum& kernel : kernels) {
    const Aggregate& times = kernel.times;
    const auto known = [&times](int64_t ns) { return times.ended > 0 ? AnalysisValue(ns) : AnalysisValue(); };
    RETURN_IF_ERROR(answer.AddRow(
        kKernels, {traces.run(kernel.part), ValueOf(traces.parts()[kernel.part].rank), kernel.name,
                   std::string(KernelTypeName(kernel.type)), times.count, times.sum_ns,
                   PercentOf(times.sum_ns, all_of_parts[kernel.part]),
                   times.ended > 0 ? AnalysisValue(times.mean_ns()) : AnalysisValue(), known(times.min_ns),
                   known(times.max_ns), times.ended > 0 ? AnalysisValue(times.percentiles_ns[0]) : AnalysisValue(),
                   times.ended > 0 ? AnalysisValue(times.percentiles_ns[1]) : AnalysisValue()}));
  }
  return OkStatus();
}

// "nn.Module: Linear_12" is an instance of the class "nn.Module: Linear".
std::string_view ClassOfModule(std::string_view module) {
  const size_t end = module.find_last_not_of("0123456789");
  const bool has_number = end != std::string_view::npos && end + 1 < module.size() && module[end] == '_';
  return has_number ? module.substr(0, end) : module;
}

// Names that say the same are one: `said` is what a name says.
class SharedNames {
 public:
  using Said = std::string_view (*)(std::string_view name);
  SharedNames(PartReader& reader, Said said) : reader_(reader), said_(said) {}

  // The number of the first name that says the same.
  Result<int64_t> NumberOf(int64_t name) {
    const auto [known, is_new] = numbers_.try_emplace(name, name);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string text, reader_.ReadString(name));
      known->second = firsts_.try_emplace(std::string(said_(text)), name).first->second;
    }
    return known->second;
  }

  Result<AnalysisValue> TextOf(int64_t name) const {
    if (name == kNoValue) return AnalysisValue();
    ASSIGN_OR_RETURN(const std::string text, reader_.ReadString(name));
    return AnalysisValue(std::string(said_(text)));
  }

 private:
  PartReader& reader_;
  const Said said_;
  std::unordered_map<int64_t, int64_t> numbers_;
  std::map<std::string, int64_t> firsts_;
};

// The kernels of one name that one call of one operator and class of modules launches.
struct OfOperator {
  int64_t name = 0;
  int64_t operator_name = kNoValue;
  int64_t module_name = kNoValue;
  int64_t call_name = kNoValue;

  bool operator<(const OfOperator& other) const {
    return std::tie(name, operator_name, module_name, call_name) <
           std::tie(other.name, other.operator_name, other.module_name, other.call_name);
  }
};

struct OperatorSum {
  int64_t sum_ns = 0;
  int64_t count = 0;
};

Status AddOperatorsOf(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop,
                      AnalysisAnswer& answer) {
  PartReader& reader = *traces.parts()[part].reader;
  ASSIGN_OR_RETURN(const DeviceLaunches read, DeviceLaunches::Read(traces, part, scope, stop));
  ASSIGN_OR_RETURN(const std::vector<LaunchContext> contexts,
                   FindLaunchContexts(traces.parts()[part], read.calls(), traces.take_memory(), stop));
  SharedNames operators(reader, NameOfCall);
  SharedNames modules(reader, ClassOfModule);
  const SharedNames others(reader, [](std::string_view name) { return name; });
  std::map<OfOperator, OperatorSum> sums;
  int64_t all_ns = 0;
  for (const DeviceSlice& slice : read.slices()) {
    OfOperator key{.name = slice.name};
    if (slice.call != DeviceSlice::kNoCall) {
      const auto call = static_cast<size_t>(slice.call);
      if (const std::optional<int64_t> name = contexts[call].operator_name) {
        ASSIGN_OR_RETURN(key.operator_name, operators.NumberOf(*name));
      }
      if (const std::optional<int64_t> name = contexts[call].module_name) {
        ASSIGN_OR_RETURN(key.module_name, modules.NumberOf(*name));
      }
      key.call_name = read.calls()[call].name;
    }
    OperatorSum& sum = sums[key];
    sum.sum_ns = AddLength(sum.sum_ns, slice.length_ns());
    ++sum.count;
    all_ns = AddLength(all_ns, slice.length_ns());
  }
  std::vector<std::pair<OfOperator, OperatorSum>> order(sums.begin(), sums.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second.sum_ns, a.first) < std::tie(a.second.sum_ns, b.first);
  });
  for (const auto& [key, sum] : order) {
    ASSIGN_OR_RETURN(AnalysisValue name, others.TextOf(key.name));
    ASSIGN_OR_RETURN(AnalysisValue operator_name, operators.TextOf(key.operator_name));
    ASSIGN_OR_RETURN(AnalysisValue module_name, modules.TextOf(key.module_name));
    ASSIGN_OR_RETURN(AnalysisValue call_name, others.TextOf(key.call_name));
    RETURN_IF_ERROR(answer.AddRow(kByOperator, {traces.run(part), ValueOf(traces.parts()[part].rank), std::move(name),
                                                std::move(operator_name), sum.sum_ns, PercentOf(sum.sum_ns, all_ns),
                                                sum.count, std::move(module_name), std::move(call_name)}));
  }
  return OkStatus();
}

Status AddOperators(const AnalysisTraces& traces, const AnalysisOptions& options, const StopSignal& stop,
                    AnalysisAnswer& answer) {
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(AddOperatorsOf(traces, part, scope, stop, answer));
  }
  return OkStatus();
}

Result<AnalysisAnswer> AnswerKernelBreakdown(const AnalysisTraces& traces, const AnalysisOptions& options,
                                             const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  RETURN_IF_ERROR(AddTypes(traces, options, stop, answer));
  RETURN_IF_ERROR(AddKernels(traces, options, stop, answer));
  if (options.boolean("operators")) {
    RETURN_IF_ERROR(AddOperators(traces, options, stop, answer));
  } else if (!answer.rows(kKernels).empty()) {
    answer.AddNote("by_operator: it is empty without option operators (--operators)");
  }
  return answer;
}

}  // namespace

AnalysisKind KernelBreakdown() {
  using enum AnalysisType;
  return {.name = "kernel-breakdown",
          .version = 1,
          .question = "Which types of work took the time of the devices, and which kernels?",
          .options = {kTraceScope, kWindow, kKernelOptions},
          .tables = {{"by_type",
                      {{"run", kText, "", "The run", true},
                       {"type", kText, "", "compute, communication, memory; joined by + where they ran at once"},
                       {"sum_ns", kInteger, "ns", "In which this ran and nothing else, added up over all ranks"},
                       {"percent", kReal, "percent", "Of the time in which any of them ran"}}},
                     {"kernels",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"name", kText, "", "The kernel, or the copy"},
                       {"type", kText, "", "compute, communication or memory; under window=hta also other"},
                       {"count", kInteger, "", "How often it ran"},
                       {"sum_ns", kInteger, "ns", "How long, added up"},
                       {"percent", kReal, "percent", "sum_ns of that of all kernels of its rank"},
                       {"mean_ns", kReal, "ns", "On average"},
                       {"min_ns", kInteger, "ns", "The shortest"},
                       {"max_ns", kInteger, "ns", "The longest"},
                       {"p50_ns", kInteger, "ns", "The median: half of them took no longer"},
                       {"p99_ns", kInteger, "ns", "99 of 100 took no longer"}}},
                     {"by_operator",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"name", kText, "", "The kernel, or the copy"},
                       {"operator", kText, "", "The innermost operator around its launch; null: none is recorded"},
                       {"sum_ns", kInteger, "ns", "How long, added up"},
                       {"percent", kReal, "percent", "sum_ns of that of all kernels of its rank"},
                       {"count", kInteger, "", "How often it ran"},
                       {"module", kText, "",
                        "The class of the innermost nn.Module around its launch; null: none is recorded"},
                       {"call", kText, "", "The call that launched it; null: it is not in the trace"}}}},
          .answer = &AnswerKernelBreakdown};
}

}  // namespace kprof
