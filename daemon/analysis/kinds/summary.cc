// The first look at a run: how busy its devices were, with what, why not more, and what helps most. Docs:
// docs/analyses/summary.md.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/findings/neuron_summary.h"
#include "daemon/analysis/findings/report_summary.h"
#include "daemon/analysis/findings/trace_findings.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/functions/memory_events.h"
#include "daemon/analysis/functions/memory_levels.h"
#include "daemon/analysis/functions/neuron/neuron_parts.h"
#include "daemon/analysis/kinds/analysis_kinds.h"
#include "daemon/analysis/operators/busy_time.h"
#include "daemon/analysis/operators/part_filter.h"
#include "storage/trace/format/event_args.h"

namespace kprof {

namespace {

enum SummaryTable : size_t {
  kSummaryRanks,
  kTopKernels,
  kIdleCausesShown,
  kTopFindings,
  kMeasuredKernels,
  kFirstOfNeuron
};

constexpr size_t kMostTopKernels = 10;
constexpr size_t kMostTopFindings = 3;
constexpr double kOverheadPercent = 1;  // of the time; more is a reason not to trust it

struct ReasonWords {
  const char* name;
  const char* meaning;
};
constexpr ReasonWords kReasons[kIdleReasons] = {
    {"sync", "the host waited for the device before it launched more"},
    {"allocation", "the launching thread allocated or freed memory"},
    {"data_loader", "the launching thread waited for its data loader"},
    {"launch", "the host launched late: operators, Python"},
    {"host_work", "the host did other work for a millisecond or more"},
    {"kernel_wait", "short gaps between kernels launched in time"},
    {"other", "long gaps before work launched in time"},
    {"before_first_work", "before the first work of the device"},
    {"after_last_work", "behind the last work of the device"},
};

struct MemoryPeak {
  std::optional<int64_t> bytes;
  std::optional<int64_t> reserved_bytes;
  std::optional<int64_t> rank;
  std::optional<int64_t> device;
};

// Numbers of all devices, added up: percentages come from these sums.
struct SummarySums {
  int64_t devices = 0;
  int64_t total_ns = 0;
  int64_t longest_ns = 0;
  int64_t busy_ns = 0;
  int64_t exposed_ns = 0;
  std::array<int64_t, kKernelTypes> of_type_ns{};
  int64_t work = 0;
  int64_t kernels = 0;
  std::optional<int64_t> launches;
  std::array<int64_t, kIdleReasons> idle_ns{};
  std::array<int64_t, kIdleReasons> idle_gaps{};

  int64_t of(KernelType type) const { return of_type_ns[static_cast<size_t>(type)]; }

  void Add(const DeviceTraceMetrics& of) {
    ++devices;
    const int64_t total = of.metrics[TraceMetric::kTotalNs];
    total_ns = SaturatingSum(total_ns, total);
    longest_ns = std::max(longest_ns, total);
    busy_ns = SaturatingSum(busy_ns, of.metrics[TraceMetric::kBusyNs]);
    exposed_ns = SaturatingSum(exposed_ns, of.exposed_ns);
    for (size_t i = 0; i < of_type_ns.size(); ++i) of_type_ns[i] = SaturatingSum(of_type_ns[i], of.of_type_ns[i]);
    work += of.work;
    kernels += of.metrics[TraceMetric::kKernels];
    const std::optional<int64_t> of_device = of.metrics.Find(TraceMetric::kLaunches);
    if (of_device) launches = launches.value_or(0) + *of_device;
    for (size_t i = 0; i < kIdleReasons; ++i) {
      idle_ns[i] = SaturatingSum(idle_ns[i], of.idle_ns[i]);
      idle_gaps[i] += of.idle_gaps[i];
    }
  }
};

struct Straggler {
  std::optional<int64_t> rank;
  int64_t times_last = 0;
  int64_t others_wait_ns = 0;
  int64_t collectives = 0;
};

struct KernelSums {
  KernelType type = KernelType::kCompute;
  int64_t count = 0;
  int64_t sum_ns = 0;
};

// The kinds of events that a part has, of those that PyTorch's profiler records when it is asked to.
struct Recorded {
  bool launches = false;
  bool operators = false;
  bool python = false;
  bool memory = false;
};

class SummaryMaker {
 public:
  SummaryMaker(const AnalysisTraces& traces, const AnalysisOptions& options, const StopSignal& stop)
      : traces_(traces), options_(options), stop_(stop), answer_(traces), charge_(traces.take_memory()) {}

  // `reports`: the same traces, and the parts that are reports of kernels alone.
  Result<AnalysisAnswer> Make(const AnalysisTraces& reports, const ReportParts& parts) {
    // Without parts there is nothing to ask of the traces, but where there were none at all: then that is said.
    const bool is_of_neuron_alone = traces_.parts().empty() && !reports.parts().empty();
    has_neuron_ = traces_.parts().size() < parts.with_events().parts().size();
    if (parts.has_events() && !is_of_neuron_alone) RETURN_IF_ERROR(AddEvents());
    const bool is_of_time = options_.integer("from") || options_.integer("to") || options_.integer("step");
    if (parts.has_reports() && !is_of_time) {
      ASSIGN_OR_RETURN(measured_, AddReportSummary(reports, options_, stop_, kMeasuredKernels, kTopFindings, answer_));
    }
    SetFacts();
    return std::move(answer_);
  }

 private:
  Status AddEvents() {
    ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces_, options_, stop_));
    RETURN_IF_ERROR(
        ForEachPartMetrics(traces_, scope, has_neuron_, stop_, answer_,
                           [&](size_t part, PartTraceMetrics& metrics) { return AddPart(part, metrics, scope); }));
    findings_.Close();
    RETURN_IF_ERROR(FindStraggler());
    AddOverheadTrust();
    RETURN_IF_ERROR(AddKernels());
    RETURN_IF_ERROR(AddIdleCauses());
    return AddFindings();
  }

  Status AddPart(size_t part, PartTraceMetrics& metrics, const DeviceScope& scope) {
    ++parts_;
    findings_.AddPart(traces_, part, metrics);
    MemoryPeak peak;
    RETURN_IF_ERROR(ReadPeak(part, scope, peak));
    RETURN_IF_ERROR(ReadRecorded(part, metrics));
    RETURN_IF_ERROR(AddOverhead(part, scope));
    if (peak.bytes && (!peak_.bytes || *peak.bytes > *peak_.bytes)) peak_ = peak;
    const std::optional<int64_t> rank = traces_.parts()[part].rank;
    if (rank && !metrics.devices.empty()) ranks_.insert(*rank);
    for (const DeviceTraceMetrics& of : metrics.devices) {
      all_.Add(of);
      SummarySums sums;
      sums.Add(of);
      RETURN_IF_ERROR(AddRank(part, of.device, sums, peaks_.contains(of.device) ? peaks_[of.device] : MemoryPeak()));
    }
    for (KernelTotal& kernel : metrics.kernels) {
      auto key = std::pair(traces_.run(part), std::move(kernel.name));
      const auto bytes = static_cast<int64_t>(key.first.size() + key.second.size() + sizeof(KernelSums) + 64);
      const auto [at, is_new] = kernels_.try_emplace(std::move(key));
      if (is_new) RETURN_IF_ERROR(charge_.Grow(bytes));
      at->second.type = kernel.type;
      at->second.count += kernel.count;
      at->second.sum_ns = AddLength(at->second.sum_ns, kernel.sum_ns);
      kernels_ns_ = AddLength(kernels_ns_, kernel.sum_ns);
    }
    return OkStatus();
  }

  // Of each device that an allocator tells of; the largest goes to `most`.
  Status ReadPeak(size_t part, const DeviceScope& scope, MemoryPeak& most) {
    peaks_.clear();
    MemoryCharge charge(traces_.take_memory());
    ASSIGN_OR_RETURN(const MemoryEvents read, ReadMemoryEvents(traces_.parts()[part], stop_, charge));
    recorded_.memory |= !read.events.empty();
    std::map<std::pair<int64_t, uint32_t>, MemoryLevels> levels;
    for (const MemoryEvent& event : read.events) {
      if (event.device == kNoValue || (scope.device() && event.device != *scope.device())) continue;
      levels[{event.device, event.kind}].Add(event);
    }
    for (auto& [key, memory] : levels) {
      RETURN_IF_ERROR(charge.Grow(memory.size_bytes()));
      memory.Close();
      const auto [first, end] =
          memory.Within(scope.from_ns(part).value_or(INT64_MIN), scope.to_ns(part).value_or(INT64_MAX));
      const int64_t bytes = memory.LevelAfter(memory.FindPeak(first, end));
      std::optional<int64_t> reserved = memory.ReservedAfter(first);
      for (size_t i = first; i < end; ++i) reserved = std::max(reserved, memory.ReservedAfter(i + 1));
      MemoryPeak& peak = peaks_[key.first];
      if (peak.bytes && *peak.bytes >= bytes) continue;
      peak = {bytes, reserved, traces_.parts()[part].rank, key.first};
      if (!most.bytes || *most.bytes < bytes) most = peak;
    }
    return OkStatus();
  }

  Result<bool> HasCategory(size_t part, std::vector<std::string> categories) const {
    EventFilter filter;
    filter.categories = std::move(categories);
    ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, traces_.parts()[part], EventKind::kSlice));
    return !bound.never();
  }

  Status ReadRecorded(size_t part, const PartTraceMetrics& metrics) {
    recorded_.launches |= metrics.has_launches;
    ASSIGN_OR_RETURN(const bool has_operators, HasCategory(part, {"cpu_op", "Operator"}));
    ASSIGN_OR_RETURN(const bool has_python, HasCategory(part, {"python_function"}));
    recorded_.operators |= has_operators;
    recorded_.python |= has_python;
    return OkStatus();
  }

  // The profiler's own time, where the trace shows it.
  Status AddOverhead(size_t part, const DeviceScope& scope) {
    BusyRequest request{.by = BusyBy::kAll};
    request.filter.categories = {"overhead"};
    request.filter.from_ns = scope.from_ns(part);
    request.filter.to_ns = scope.to_ns(part);
    ASSIGN_OR_RETURN(const std::vector<BusyTime> busy, FindBusyTimes(traces_.parts().subspan(part, 1), request, stop_));
    const Interval whole = scope.WholeOf(part);
    overhead_whole_ns_ = SaturatingSum(overhead_whole_ns_, whole.end_ns - whole.begin_ns);
    for (const BusyTime& of : busy) overhead_ns_ = SaturatingSum(overhead_ns_.value_or(0), of.busy_ns);
    return OkStatus();
  }

  void AddOverheadTrust() {
    const AnalysisValue percent = PercentOf(overhead_ns_.value_or(0), overhead_whole_ns_);
    const auto* share = std::get_if<double>(&percent);
    if (share == nullptr || *share < kOverheadPercent) return;
    answer_.AddTrust({"profiler_overhead", "the profiler itself took " + TextOfNs(*overhead_ns_) + " (" +
                                               TextOfShare(*overhead_ns_, overhead_whole_ns_) +
                                               " of the time): the trace says so in its slices of overhead"});
  }

  Status AddRank(size_t part, std::optional<int64_t> device, const SummarySums& sums, const MemoryPeak& peak) {
    const auto reason = [&sums](IdleReason one) { return sums.idle_ns[static_cast<size_t>(one)]; };
    const int64_t host_wait = reason(IdleReason::kSync) + reason(IdleReason::kAllocation) + reason(IdleReason::kData) +
                              reason(IdleReason::kLaunch) + reason(IdleReason::kHostWork);
    return answer_.AddRow(
        kSummaryRanks,
        {traces_.run(part), ValueOf(traces_.parts()[part].rank), ValueOf(device), sums.total_ns,
         PercentOf(sums.busy_ns, sums.total_ns), PercentOf(sums.of(KernelType::kCompute), sums.total_ns),
         PercentOf(sums.of(KernelType::kCommunication), sums.total_ns),
         PercentOf(sums.of(KernelType::kMemory), sums.total_ns), PercentOf(sums.exposed_ns, sums.total_ns),
         PercentOf(sums.total_ns - sums.busy_ns, sums.total_ns), sums.busy_ns, sums.exposed_ns,
         sums.launches ? AnalysisValue(host_wait) : AnalysisValue(), sums.kernels, ValueOf(sums.launches),
         ValueOf(peak.bytes)});
  }

  // The rank for which the others waited longest, as `collectives` tells. Nothing where clocks cannot be compared.
  Status FindStraggler() {
    if (all_.devices < 2 || all_.of(KernelType::kCommunication) == 0) return OkStatus();
    ASSIGN_OR_RETURN(const AnalysisKind* const found, FindAnalysisKind("collectives"));
    const AnalysisKind& kind = *found;
    std::map<std::string, std::string> given;
    for (const char* name : {"rank", "device", "from", "to", "step"}) {
      const std::optional<int64_t> value = options_.integer(name);
      if (value) given[name] = std::to_string(*value);
    }
    ASSIGN_OR_RETURN(const AnalysisOptions options, AnalysisOptions::Read("summarize", kind.options, given));
    ASSIGN_OR_RETURN(const AnalysisAnswer answer, kind.answer(traces_, options, stop_));
    for (size_t table = 0; table < kind.tables.size(); ++table) {
      if (kind.tables[table].name != std::string_view("ranks")) continue;
      const auto column = [&kind, table](std::string_view name) {
        const std::vector<AnalysisColumn>& columns = kind.tables[table].columns;
        return static_cast<size_t>(std::find_if(columns.begin(), columns.end(),
                                                [name](const AnalysisColumn& one) { return one.name == name; }) -
                                   columns.begin());
      };
      const size_t rank = column("rank");
      const size_t last = column("times_last");
      const size_t wait = column("others_wait_ns");
      const size_t matched = column("matched");
      const size_t clock = column("clock");
      for (const AnalysisAnswer::Row& row : answer.rows(table)) {
        const auto number = [&row](size_t at) {
          const auto* value = std::get_if<int64_t>(&row[at]);
          return value == nullptr ? 0 : *value;
        };
        const auto* text = std::get_if<std::string>(&row[clock]);
        if (text == nullptr || *text == "unknown" || number(wait) <= straggler_.others_wait_ns) continue;
        straggler_ = {number(rank), number(last), number(wait), number(matched)};
      }
    }
    return OkStatus();
  }

  Status AddKernels() {
    std::vector<std::pair<const std::pair<std::string, std::string>*, const KernelSums*>> order;
    order.reserve(kernels_.size());
    for (const auto& [key, sums] : kernels_) order.emplace_back(&key, &sums);
    const size_t most = std::min(order.size(), kMostTopKernels);
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(most), order.end(),
                      [](const auto& a, const auto& b) {
                        return std::tie(b.second->sum_ns, *a.first) < std::tie(a.second->sum_ns, *b.first);
                      });
    for (size_t i = 0; i < most; ++i) {
      const auto& [run, name] = *order[i].first;
      const KernelSums& sums = *order[i].second;
      RETURN_IF_ERROR(answer_.AddRow(
          kTopKernels, {run, name, std::string(KernelTypeName(sums.type)), sums.count, sums.sum_ns,
                        PercentOf(sums.sum_ns, kernels_ns_),
                        static_cast<double>(sums.sum_ns) / static_cast<double>(std::max<int64_t>(sums.count, 1))}));
    }
    return OkStatus();
  }

  Status AddIdleCauses() {
    std::vector<std::pair<int64_t, size_t>> order;  // the longest first
    for (size_t i = 0; i < kIdleReasons; ++i) {
      if (all_.idle_ns[i] > 0) order.emplace_back(-all_.idle_ns[i], i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [negative, i] : order) {
      RETURN_IF_ERROR(answer_.AddRow(
          kIdleCausesShown, {std::string(kReasons[i].name), all_.idle_ns[i], PercentOf(all_.idle_ns[i], all_.total_ns),
                             all_.idle_gaps[i], std::string(kReasons[i].meaning)}));
    }
    return OkStatus();
  }

  // The largest of each code.
  Status AddFindings() {
    std::map<const FindingRule*, int64_t> counts;
    for (const TraceFinding& found : findings_.findings()) ++counts[found.rule];
    std::set<const FindingRule*> shown;
    for (const TraceFinding& found : findings_.findings()) {
      if (shown.size() == kMostTopFindings) break;
      if (!shown.insert(found.rule).second) continue;
      RETURN_IF_ERROR(answer_.AddRow(
          kTopFindings, {found.run, std::string(found.rule->code), found.message,
                         found.kernel.empty() ? AnalysisValue() : AnalysisValue(found.kernel),
                         PercentOf(found.gain_ns, found.whole_ns), found.evidence, std::string(found.rule->hint),
                         std::string(found.rule->source), found.gain_ns, ValueOf(found.rank), ValueOf(found.device),
                         found.command, counts[found.rule]}));
    }
    return OkStatus();
  }

  std::string NotRecorded() const {
    std::string text = "[";
    const auto add = [&text](bool is_there, const char* name) {
      if (!is_there) text += std::string(text.size() == 1 ? "" : ",") + '"' + name + '"';
    };
    add(all_.devices > 0, "kernels");
    add(recorded_.launches, "launches");
    add(recorded_.operators, "operators");
    add(recorded_.python, "python");
    add(recorded_.memory, "memory");
    return text + "]";
  }

  void SetFacts();

  const AnalysisTraces& traces_;
  const AnalysisOptions& options_;
  const StopSignal& stop_;
  AnalysisAnswer answer_;
  MemoryCharge charge_;
  TraceFindings findings_;
  SummarySums all_;
  int64_t parts_ = 0;
  std::set<int64_t> ranks_;
  std::map<std::optional<int64_t>, MemoryPeak> peaks_;  // of the part at hand, by device
  MemoryPeak peak_;
  Recorded recorded_;
  std::optional<int64_t> overhead_ns_;
  int64_t overhead_whole_ns_ = 0;
  std::map<std::pair<std::string, std::string>, KernelSums> kernels_;  // by run and name
  int64_t kernels_ns_ = 0;
  Straggler straggler_;
  std::optional<ReportTotals> measured_;  // by a profiler of kernels
  bool has_neuron_ = false;               // other parts are of a Neuron device
};

const std::vector<AnalysisColumn>& SummaryFacts() {
  using enum AnalysisType;
  static const std::vector<AnalysisColumn> kFacts = {
      {"facts", kJson, "", "All facts below, as one object"},
      {"rank_count", kInteger, "", "How many ranks have kernels; 0: nobody knows the ranks"},
      {"device_count", kInteger, "",
       "How many devices have kernels, of all ranks; null, as all about them: there are Neuron devices alone"},
      {"span_ns", kInteger, "ns", "The whole: see the options; of several ranks the longest"},
      {"device_time_ns", kInteger, "ns", "The wholes of all devices, added up: percentages are of this"},
      {"busy_ns", kInteger, "ns", "At least one kernel, copy or fill ran, added up over the devices"},
      {"utilization_percent", kReal, "percent", "busy_ns of device_time_ns"},
      {"compute_percent", kReal, "percent", "A compute kernel ran, whatever else did"},
      {"communication_percent", kReal, "percent", "A communication kernel ran, whatever else did"},
      {"memory_percent", kReal, "percent", "A copy or fill ran, whatever else did"},
      {"idle_percent", kReal, "percent", "Nothing ran"},
      {"communication_ns", kInteger, "ns", "A communication kernel ran, added up over the devices"},
      {"exposed_communication_ns", kInteger, "ns", "Communication ran, and no computation beside it"},
      {"exposed_communication_percent", kReal, "percent", "exposed_communication_ns of device_time_ns"},
      {"hidden_percent", kReal, "percent", "Communication with computation beside it, of communication_ns"},
      {"kernels", kInteger, "", "Compute kernels that ran"},
      {"work", kInteger, "", "All kernels, copies and fills"},
      {"launches", kInteger, "", "Calls that launched them; null: none are recorded"},
      {"straggler", kInteger, "",
       "The rank for which the others waited longest; the device where a trace has several; null: not known"},
      {"straggler_times_last", kInteger, "", "In so many collectives it was last"},
      {"straggler_collectives", kInteger, "", "Of so many that other ranks show, too"},
      {"straggler_others_wait_ns", kInteger, "ns", "So long all others waited for it"},
      {"memory_peak_bytes", kInteger, "bytes", "The most that was allocated on a device; null: not recorded"},
      {"memory_reserved_bytes", kInteger, "bytes", "The most that the allocator reserved there; null: not recorded"},
      {"memory_peak_rank", kInteger, "", "The rank of that device"},
      {"memory_peak_device", kInteger, "", "That device"},
      {"profiler_overhead_ns", kInteger, "ns", "The profiler's own time; null: the trace does not show it"},
      {"measured_kernel_count", kInteger, "", "Kernels of a report; null: no part has one"},
      {"measured_launches", kInteger, "", "Their launches"},
      {"measured_ns", kReal, "ns", "The time of these, added up"},
      {"not_recorded", kJson, "", "What no part has: kernels, launches, operators, python, memory"},
  };
  return kFacts;
}

void SummaryMaker::SetFacts() {
  const int64_t communication = all_.of(KernelType::kCommunication);
  const auto percent = [this](int64_t ns) { return PercentOf(ns, all_.total_ns); };
  const bool has_straggler = straggler_.rank.has_value();
  const auto of_straggler = [&](int64_t value) { return has_straggler ? AnalysisValue(value) : AnalysisValue(); };
  AnalysisAnswer::Row facts = {std::string("{"),
                               static_cast<int64_t>(ranks_.size()),
                               all_.devices,
                               all_.longest_ns,
                               all_.total_ns,
                               all_.busy_ns,
                               percent(all_.busy_ns),
                               percent(all_.of(KernelType::kCompute)),
                               percent(communication),
                               percent(all_.of(KernelType::kMemory)),
                               percent(all_.total_ns - all_.busy_ns),
                               communication,
                               all_.exposed_ns,
                               percent(all_.exposed_ns),
                               PercentOf(communication - all_.exposed_ns, communication),
                               all_.kernels,
                               all_.work,
                               ValueOf(all_.launches),
                               ValueOf(straggler_.rank),
                               of_straggler(straggler_.times_last),
                               of_straggler(straggler_.collectives),
                               of_straggler(straggler_.others_wait_ns),
                               ValueOf(peak_.bytes),
                               ValueOf(peak_.reserved_bytes),
                               ValueOf(peak_.rank),
                               ValueOf(peak_.device),
                               ValueOf(overhead_ns_),
                               measured_ ? AnalysisValue(measured_->kernels) : AnalysisValue(),
                               measured_ ? AnalysisValue(measured_->launches) : AnalysisValue(),
                               measured_ && measured_->total_ns ? AnalysisValue(*measured_->total_ns) : AnalysisValue(),
                               NotRecorded()};
  // Facts of GPUs where a Neuron device ran and no GPU: of what is not there, and not 0.
  for (size_t i = 1; has_neuron_ && all_.devices == 0 && i < facts.size(); ++i) {
    if (SummaryFacts()[i].name == std::string_view("memory_peak_bytes")) break;
    facts[i] = AnalysisValue();
  }
  std::string object = "{";
  for (size_t i = 1; i < facts.size(); ++i) {
    const AnalysisColumn& column = SummaryFacts()[i];
    object += std::string(i == 1 ? "" : ",") + '"' + column.name + "\":";
    CounterTextBuffer buffer;
    if (const auto* number = std::get_if<int64_t>(&facts[i])) {
      object += std::to_string(*number);
    } else if (const auto* real = std::get_if<double>(&facts[i])) {
      object += CounterText(*real, buffer);
    } else if (const auto* text = std::get_if<std::string>(&facts[i])) {
      object += *text;  // JSON itself
    } else {
      object += "null";
    }
  }
  facts[0] = object + "}";
  answer_.SetFacts(std::move(facts));
}

Result<AnalysisAnswer> AnswerSummary(const AnalysisTraces& traces, const AnalysisOptions& options,
                                     const StopSignal& stop) {
  const ReportParts parts(traces);
  const AnalysisTraces others = WithoutNeuron(parts.with_events());
  ASSIGN_OR_RETURN(AnalysisAnswer answer, SummaryMaker(others, options, stop).Make(traces, parts));
  const bool is_of_time = options.integer("from") || options.integer("to") || options.integer("step");
  if (!is_of_time && !options.integer("device")) {
    RETURN_IF_ERROR(AddNeuronSummary(traces, stop, kFirstOfNeuron, kTopFindings, answer));
  } else if (others.parts().size() < parts.with_events().parts().size()) {
    answer.AddNote("Neuron devices are left out where a part of the time, or a device, is asked for");
  }
  return answer;
}

}  // namespace

AnalysisKind Summary() {
  using enum AnalysisType;
  AnalysisKind kind{
      .name = "summary",
      .version = 1,
      .question = "How busy were the devices, with what, why not more, and what helps most?",
      .options = {kTraceScope},
      .facts = SummaryFacts(),
      .tables = {{"ranks",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank; null where nobody knows it"},
                   {"device", kInteger, "", "The device"},
                   {"total_ns", kInteger, "ns", "The whole: see the options"},
                   {"utilization_percent", kReal, "percent", "busy_ns of total_ns"},
                   {"compute_percent", kReal, "percent", "A compute kernel ran"},
                   {"communication_percent", kReal, "percent", "A communication kernel ran"},
                   {"memory_percent", kReal, "percent", "A copy or fill ran"},
                   {"exposed_percent", kReal, "percent", "exposed_ns of total_ns"},
                   {"idle_percent", kReal, "percent", "Nothing ran"},
                   {"busy_ns", kInteger, "ns", "At least one kernel, copy or fill ran"},
                   {"exposed_ns", kInteger, "ns", "Communication ran, and no computation beside it"},
                   {"host_wait_ns", kInteger, "ns",
                    "Idle between work as the host was late; null: no launches are recorded"},
                   {"kernels", kInteger, "", "Compute kernels that ran"},
                   {"launches", kInteger, "", "Calls that launched work; null: none are recorded"},
                   {"memory_peak_bytes", kInteger, "bytes", "The most that was allocated; null: not recorded"}}},
                 {"top_kernels",
                  {{"run", kText, "", "The run", true},
                   {"name", kText, "", "The kernel, copy or fill"},
                   {"type", kText, "", "compute, communication or memory"},
                   {"count", kInteger, "", "How often it ran, on all ranks"},
                   {"sum_ns", kInteger, "ns", "How long, added up"},
                   {"percent", kReal, "percent", "sum_ns of that of all kernels"},
                   {"mean_ns", kReal, "ns", "On average"}}},
                 {"idle_causes",
                  {{"cause", kText, "", "sync, allocation, data_loader, launch, kernel_wait, other, ..."},
                   {"ns", kInteger, "ns", "Idle time for that reason, added up over the devices"},
                   {"percent", kReal, "percent", "Of device_time_ns"},
                   {"gaps", kInteger, "", "In so many gaps"},
                   {"meaning", kText, "", "The reason in words"}}},
                 {"findings",
                  {{"run", kText, "", "The run", true},
                   {"code", kText, "", "As in `findings`: the three with the largest gains, each code once"},
                   {"message", kText, "", "What it is, with its numbers"},
                   {"kernel", kText, "", "The kernel that has most of it; null: it is about no single one"},
                   {"gain_percent", kReal, "percent", "gain_ns of the whole"},
                   {"evidence", kJson, "", "The metrics that it rests on: metric, value, unit"},
                   {"hint", kText, "", "What to do"},
                   {"source", kText, "", "A public document that says so"},
                   {"gain_ns", kInteger, "ns", "At most so much is saved; gains of several findings overlap"},
                   {"rank", kInteger, "", "The rank where it is most; null where nobody knows it"},
                   {"device", kInteger, "", "The device; null: it is about all ranks"},
                   {"command", kText, "", "It shows more"},
                   {"count", kInteger, "", "How many devices, or kernels of a report, have this finding"}}},
                 {"measured_kernels", MeasuredKernelColumns()}},
      .answer = &AnswerSummary};
  for (AnalysisTable& table : NeuronSummaryTables()) kind.tables.push_back(std::move(table));
  return kind;
}

}  // namespace kprof
