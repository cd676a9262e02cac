// Ranges that a program marks (NVTX, record_function), projected onto the devices: from the begin of the first to the
// end of the last work that was launched within a range. Docs: docs/analyses/annotations.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/kernel_types.h"
#include "daemon/analysis/functions/launches/calls_and_work.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

enum AnnotationTable : size_t { kAnnotations, kSum };

constexpr AnalysisOption kOperations[] = {
    {"operations", AnalysisType::kText, "all", "",
     "What ranges are projected onto: kernels alone, or copies and fills too", "all|kernels"},
};

bool IsHostAnnotation(std::string_view category) {
  return category == "user_annotation" || category == "nvtx";
}
bool IsDeviceAnnotation(std::string_view category) {
  return category == "gpu_user_annotation";
}

// The work of some launches together.
struct Projection {
  int64_t begin_ns = std::numeric_limits<int64_t>::max();
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  int64_t kernels = 0;
  int64_t operations = 0;  // copies and fills, too
  int64_t work_ns = 0;

  void Add(const Projection& other) {
    begin_ns = std::min(begin_ns, other.begin_ns);
    end_ns = std::max(end_ns, other.end_ns);
    kernels += other.kernels;
    operations += other.operations;
    work_ns = SaturatingSum(work_ns, other.work_ns);
  }
};

// The launches of one thread (or process) in the order of their times, with the work of any stretch of them in
// logarithmic time: a tree of stretches, each twice as long as those below.
class Launches {
 public:
  void Add(int64_t time_ns, const Projection& work) { launches_.emplace_back(time_ns, work); }

  void Close() {
    std::stable_sort(launches_.begin(), launches_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    tree_.resize(2 * launches_.size());
    for (size_t i = 0; i < launches_.size(); ++i) tree_[launches_.size() + i] = launches_[i].second;
    for (size_t i = launches_.size(); i-- > 1;) {
      tree_[i] = tree_[2 * i];
      tree_[i].Add(tree_[2 * i + 1]);
    }
  }

  // Of the launches that began within these times, both included.
  Projection Within(int64_t from_ns, int64_t to_ns) const {
    const auto place = [this](auto found) { return static_cast<size_t>(found - launches_.begin()) + launches_.size(); };
    size_t first = place(std::lower_bound(launches_.begin(), launches_.end(), from_ns,
                                          [](const auto& one, int64_t time) { return one.first < time; }));
    size_t end = place(std::upper_bound(launches_.begin(), launches_.end(), to_ns,
                                        [](int64_t time, const auto& one) { return time < one.first; }));
    Projection all;
    for (; first < end; first /= 2, end /= 2) {
      if (first % 2 == 1) all.Add(tree_[first++]);
      if (end % 2 == 1) all.Add(tree_[--end]);
    }
    return all;
  }

 private:
  std::vector<std::pair<int64_t, Projection>> launches_;
  std::vector<Projection> tree_;  // 1 is the root, 2i and 2i + 1 are the halves of i
};

struct Annotation {
  PartSlice slice;
  int64_t depth = 0;
  Projection device;
  bool is_of_host = true;
};

// One more than the depth of the last annotation before it on its track that holds it whole. REQUIRES: SortByTrack.
void FindDepths(std::vector<Annotation>& annotations) {
  std::vector<const Annotation*> open;
  for (Annotation& one : annotations) {
    while (!open.empty() &&
           (open.back()->slice.track != one.slice.track || open.back()->slice.end_ns < one.slice.end_ns)) {
      open.pop_back();
    }
    one.depth = open.empty() ? 0 : open.back()->depth + 1;
    open.push_back(&one);
  }
}

class PartAnnotations {
 public:
  PartAnnotations(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, bool only_kernels)
      : traces_(traces),
        part_(part),
        scope_(scope),
        only_kernels_(only_kernels),
        reader_(*traces.parts()[part].reader) {}

  Status Find(const StopSignal& stop) {
    ASSIGN_OR_RETURN(CallsAndWork work, CallsAndWork::Read(traces_, part_, scope_, stop));
    works_ = work.work().size();
    if (works_ == 0) return OkStatus();
    RETURN_IF_ERROR(AddLaunches(work));
    RETURN_IF_ERROR(ReadAnnotations(IsHostAnnotation, stop, work.charge()));
    for (Annotation& one : found_) Project(one);
    RETURN_IF_ERROR(AddOfDevices(work, stop));
    ranges_ = found_.size();
    std::erase_if(found_, [](const Annotation& one) { return one.device.operations == 0; });
    std::stable_sort(found_.begin(), found_.end(), [](const Annotation& a, const Annotation& b) {
      return std::tie(a.slice.begin_ns, a.depth) < std::tie(b.slice.begin_ns, b.depth);
    });
    return OkStatus();
  }

  const std::vector<Annotation>& found() const { return found_; }
  size_t ranges() const { return ranges_; }
  size_t works() const { return works_; }
  Result<std::string> NameOf(int64_t name) {
    std::string& text = names_[name];
    if (!text.empty()) return text;
    ASSIGN_OR_RETURN(text, reader_.ReadString(name));
    return text;
  }

 private:
  Status AddLaunches(CallsAndWork& work) {
    std::unordered_map<uint32_t, Projection> of_calls;
    for (size_t i = 0; i < work.work().size(); ++i) {
      if (work.call_of(i) == CallsAndWork::kNoCall) continue;
      ASSIGN_OR_RETURN(const Projection one, ProjectionOf(work.work()[i]));
      if (one.operations > 0) of_calls[work.call_of(i)].Add(one);
    }
    RETURN_IF_ERROR(work.charge().Grow(static_cast<int64_t>(of_calls.size() * 6 * sizeof(Projection))));
    for (const auto& [call, of] : of_calls) {
      const PartSlice& slice = work.calls()[call];
      of_threads_[slice.track].Add(slice.begin_ns, of);
      of_processes_[ProcessOf(slice.track)].Add(slice.begin_ns, of);
    }
    for (auto& [track, launches] : of_threads_) launches.Close();
    for (auto& [pid, launches] : of_processes_) launches.Close();
    return OkStatus();
  }

  // Nothing: only kernels are asked for, and it is none.
  Result<Projection> ProjectionOf(const PartSlice& slice) {
    const auto [is_kernel, is_new] = is_kernel_.try_emplace(slice.name);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string name, NameOf(slice.name));
      is_kernel->second = TypeOfKernel(name) != KernelType::kMemory;
    }
    if (only_kernels_ && !is_kernel->second) return Projection();
    return Projection{slice.begin_ns, slice.end_ns, is_kernel->second ? 1 : 0, 1, slice.end_ns - slice.begin_ns};
  }

  std::string ProcessOf(uint32_t track) const { return reader_.tracks()[track].pid.value_or(""); }

  Status ReadAnnotations(bool (*accepts)(std::string_view), const StopSignal& stop, MemoryCharge& charge) {
    EventFilter filter;
    filter.accepts_category = accepts;
    filter.from_ns = scope_.from_ns(part_);
    filter.to_ns = scope_.to_ns(part_);
    std::vector<PartSlice> slices;
    RETURN_IF_ERROR(ReadSlices(traces_.parts()[part_], filter, stop, charge, slices));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(slices.size() * sizeof(Annotation))));
    SortByTrack(slices);
    found_.reserve(slices.size());
    for (const PartSlice& slice : slices) found_.push_back({slice});
    FindDepths(found_);
    return OkStatus();
  }

  void Project(Annotation& one) {
    const bool is_of_thread = reader_.tracks()[one.slice.track].kind != "async";
    if (is_of_thread) {
      const auto found = of_threads_.find(one.slice.track);
      if (found != of_threads_.end()) one.device = found->second.Within(one.slice.begin_ns, one.slice.end_ns);
    } else {
      const auto found = of_processes_.find(ProcessOf(one.slice.track));
      if (found != of_processes_.end()) one.device = found->second.Within(one.slice.begin_ns, one.slice.end_ns);
    }
  }

  // Annotations that only devices have, as the trace's tool projected them.
  Status AddOfDevices(CallsAndWork& work, const StopSignal& stop) {
    std::unordered_set<int64_t> of_host;
    for (const Annotation& one : found_) of_host.insert(one.slice.name);
    std::vector<Annotation> others = std::move(found_);
    found_.clear();
    RETURN_IF_ERROR(ReadAnnotations(IsDeviceAnnotation, stop, work.charge()));
    std::erase_if(found_, [&](const Annotation& one) { return of_host.contains(one.slice.name); });
    std::map<uint32_t, Launches> of_streams;
    if (!found_.empty()) {
      for (const PartSlice& slice : work.work()) {
        ASSIGN_OR_RETURN(const Projection one, ProjectionOf(slice));
        if (one.operations > 0) of_streams[slice.track].Add(slice.begin_ns, one);
      }
      for (auto& [track, launches] : of_streams) launches.Close();
    }
    for (Annotation& one : found_) {
      one.is_of_host = false;
      const auto stream = of_streams.find(one.slice.track);
      if (stream == of_streams.end()) continue;
      one.device = stream->second.Within(one.slice.begin_ns, one.slice.end_ns);
      one.device.begin_ns = one.slice.begin_ns;
      one.device.end_ns = one.slice.end_ns;
    }
    found_.insert(found_.end(), others.begin(), others.end());
    return OkStatus();
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  const DeviceScope& scope_;
  const bool only_kernels_;
  PartReader& reader_;
  std::unordered_map<int64_t, bool> is_kernel_;  // by name
  std::map<uint32_t, Launches> of_threads_;
  std::map<std::string, Launches> of_processes_;
  std::vector<Annotation> found_;
  std::unordered_map<int64_t, std::string> names_;
  size_t ranges_ = 0;
  size_t works_ = 0;
};

struct AnnotationSum {
  std::vector<int64_t> device_ns;
  int64_t sum_ns = 0;
  int64_t host_ns = 0;
  int64_t of_host = 0;
  int64_t kernels = 0;
  int64_t operations = 0;
  int64_t work_ns = 0;

  void Add(const Annotation& one) {
    device_ns.push_back(one.device.end_ns - one.device.begin_ns);
    sum_ns = SaturatingSum(sum_ns, device_ns.back());
    kernels += one.device.kernels;
    operations += one.device.operations;
    work_ns = SaturatingSum(work_ns, one.device.work_ns);
    if (!one.is_of_host) return;
    ++of_host;
    host_ns = SaturatingSum(host_ns, one.slice.end_ns - one.slice.begin_ns);
  }

  double mean_ns() const { return static_cast<double>(sum_ns) / static_cast<double>(device_ns.size()); }
  // Of a sample, as nsys has it; nothing for one range.
  AnalysisValue stddev_ns() const {
    if (device_ns.size() < 2) return {};
    double squares = 0;
    for (const int64_t ns : device_ns) squares += std::pow(static_cast<double>(ns) - mean_ns(), 2);
    return std::sqrt(squares / static_cast<double>(device_ns.size() - 1));
  }
};

Status AddAnnotationRows(const AnalysisTraces& traces, size_t part, PartAnnotations& of, AnalysisAnswer& answer) {
  const AnalysisValue rank = ValueOf(traces.parts()[part].rank);
  std::map<std::string, AnnotationSum> sums;
  for (const Annotation& one : of.found()) {
    ASSIGN_OR_RETURN(const std::string name, of.NameOf(one.slice.name));
    sums[std::string(NameOfCall(name))].Add(one);
    const auto of_host = [&](int64_t ns) { return one.is_of_host ? AnalysisValue(ns) : AnalysisValue(); };
    RETURN_IF_ERROR(answer.AddRow(kAnnotations, {traces.run(part), rank, name, one.depth, of_host(one.slice.begin_ns),
                                                 of_host(one.slice.end_ns - one.slice.begin_ns), one.device.begin_ns,
                                                 one.device.end_ns - one.device.begin_ns, one.device.kernels,
                                                 one.device.operations, one.device.work_ns}));
  }
  std::vector<std::pair<const std::string, AnnotationSum>*> sorted;
  sorted.reserve(sums.size());
  for (auto& sum : sums) sorted.push_back(&sum);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->second.sum_ns > b->second.sum_ns; });
  for (auto* entry : sorted) {
    AnnotationSum& sum = entry->second;
    std::sort(sum.device_ns.begin(), sum.device_ns.end());
    RETURN_IF_ERROR(answer.AddRow(
        kSum,
        {traces.run(part), rank, entry->first, static_cast<int64_t>(sum.device_ns.size()), sum.sum_ns, sum.mean_ns(),
         sum.device_ns[(sum.device_ns.size() - 1) / 2], sum.device_ns.front(), sum.device_ns.back(), sum.stddev_ns(),
         sum.kernels, sum.operations, sum.work_ns, sum.of_host > 0 ? AnalysisValue(sum.host_ns) : AnalysisValue()}));
  }
  return OkStatus();
}

Result<AnalysisAnswer> AnswerAnnotations(const AnalysisTraces& traces, const AnalysisOptions& options,
                                         const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  size_t works = 0;
  size_t ranges = 0;
  size_t projected = 0;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    PartAnnotations of(traces, part, scope, options.text("operations") == "kernels");
    RETURN_IF_ERROR(of.Find(stop));
    RETURN_IF_ERROR(AddAnnotationRows(traces, part, of, answer));
    works += of.works();
    ranges += of.ranges();
    projected += of.found().size();
  }
  if (works == 0) {
    answer.AddNote("no kernels: nothing ran on a device in what was asked for");
  } else if (ranges == 0) {
    answer.AddNote("no annotations: there are no NVTX ranges and no user annotations in what was asked for");
  } else if (projected < ranges) {
    answer.AddNote(std::to_string(ranges - projected) + " of " + std::to_string(ranges) +
                   " ranges launched no work of a device, and are left out");
  }
  return answer;
}

}  // namespace

AnalysisKind Annotations() {
  using enum AnalysisType;
  return {.name = "annotations",
          .version = 1,
          .question = "What do the program's own ranges (NVTX, record_function) cost on the devices?",
          .options = {kTraceScope, kOperations},
          .tables = {{"annotations",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"name", kText, "", "The range, as the program named it"},
                       {"depth", kInteger, "", "In how many other ranges of its thread it lies"},
                       {"start_ns", kInteger, "ns", "Its begin on the host; null where only the device has it"},
                       {"duration_ns", kInteger, "ns", "Its length on the host"},
                       {"device_start_ns", kInteger, "ns", "The begin of the first work that it launched"},
                       {"device_ns", kInteger, "ns", "From there to the end of the last such work"},
                       {"kernels", kInteger, "", "Kernels that it launched"},
                       {"operations", kInteger, "", "The same with copies and fills"},
                       {"work_ns", kInteger, "ns", "Their durations, added up"}}},
                     {"sum",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"name", kText, "", "The ranges of this name"},
                       {"count", kInteger, "", "How many they are"},
                       {"device_ns", kInteger, "ns", "Their lengths on the device, added up"},
                       {"mean_ns", kReal, "ns", "On average"},
                       {"p50_ns", kInteger, "ns", "The median: half of them are no longer"},
                       {"min_ns", kInteger, "ns", "The shortest"},
                       {"max_ns", kInteger, "ns", "The longest"},
                       {"stddev_ns", kReal, "ns", "The deviation of a sample; null for one range"},
                       {"kernels", kInteger, "", "Kernels that they launched"},
                       {"operations", kInteger, "", "The same with copies and fills"},
                       {"work_ns", kInteger, "ns", "The durations of these, added up"},
                       {"host_ns", kInteger, "ns", "Their lengths on the host, added up"}}}},
          .answer = &AnswerAnnotations};
}

}  // namespace kprof
