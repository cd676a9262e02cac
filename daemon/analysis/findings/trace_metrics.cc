#include "daemon/analysis/findings/trace_metrics.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "daemon/analysis/findings/host_waits.h"
#include "daemon/analysis/findings/matrix_kernels.h"
#include "daemon/analysis/functions/copy_sizes.h"
#include "daemon/analysis/functions/kernel_sequences.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {
namespace {

constexpr MetricWords kMetricWords[kTraceMetrics] = {
    {"total_ns", "ns"},
    {"busy_ns", "ns"},
    {"kernels", "count"},
    {"communication_ns", "ns"},
    {"exposed_communication_ns", "ns"},
    {"copy_only_ns", "ns"},
    {"launches", "count"},
    {"host_wait_ns", "ns"},
    {"sync_wait_ns", "ns"},
    {"sync_gaps", "count"},
    {"data_wait_ns", "ns"},
    {"data_gaps", "count"},
    {"allocation_wait_ns", "ns"},
    {"steady_allocation_wait_ns", "ns"},
    {"steady_allocation_gaps", "count"},
    {"launch_wait_ns", "ns"},
    {"launch_gaps", "count"},
    {"host_work_wait_ns", "ns"},
    {"host_work_gaps", "count"},
    {"median_kernel_ns", "ns"},
    {"mean_launch_interval_ns", "ns"},
    {"tiny_kernels", "count"},
    {"tiny_gap_ns", "ns"},
    {"small_copies", "count"},
    {"small_copy_bytes", "bytes"},
    {"shortest_small_copy_ns", "ns"},
    {"pageable_copies", "count"},
    {"pageable_copy_ns", "ns"},
    {"exposed_pageable_copy_ns", "ns"},
    {"matrix_kernel_ns", "ns"},
    {"plain_matrix_kernel_ns", "ns"},
    {"sequence_length", "count"},
    {"sequence_count", "count"},
    {"sequence_gap_ns", "ns"},
    {"idle_between_ns", "ns"},
    {"ranks", "count"},
    {"most_compute_ns", "ns"},
    {"most_compute_rank", ""},
    {"mean_compute_ns", "ns"},
};

// For each slice of a device, in all that is made of it.
constexpr size_t kBytesOfSlice = 64 + kBytesOfSequenceSlice;

int64_t SumOfPieces(const std::vector<Interval>& pieces) {
  int64_t sum = 0;
  for (const Interval& piece : pieces) sum += piece.end_ns - piece.begin_ns;
  return sum;
}

// A name of kernels, copies or fills: its kind, and the sums of those that have it.
struct NamedWork {
  KernelTotal total;
  MatrixKernel matrix = MatrixKernel::kNone;
  bool is_host_copy = false;  // between host and device
  bool is_pageable = false;
  bool is_pinned = false;
};

NamedWork WorkOfName(std::string name) {
  const auto has = [&name](std::string_view piece) { return name.find(piece) != std::string::npos; };
  NamedWork work;
  work.total.type = TypeOfKernel(name);
  if (work.total.type == KernelType::kCompute) work.matrix = MatrixKernelOf(name);
  if (work.total.type == KernelType::kMemory) {
    work.is_host_copy = has("HtoD") || has("DtoH") || has("HostToDevice") || has("DeviceToHost");
    work.is_pageable = has("Pageable");
    work.is_pinned = has("Pinned");
  }
  work.total.name = std::move(name);
  return work;
}

class PartMetricsReader {
 public:
  PartMetricsReader(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop)
      : part_(traces.parts()[part]),
        scope_(scope),
        stop_(stop),
        whole_(scope.WholeOf(part)),
        part_at_(part),
        charge_(traces.take_memory()) {}

  Result<PartTraceMetrics> Read(const AnalysisTraces& traces) {
    PartTraceMetrics found;
    ASSIGN_OR_RETURN(const DeviceLaunches read, DeviceLaunches::Read(traces, part_at_, scope_, stop_));
    if (read.slices().empty()) return found;
    RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(read.slices().size() * kBytesOfSlice)));
    found.has_launches = !read.calls().empty();
    RETURN_IF_ERROR(ReadNames(read));
    ASSIGN_OR_RETURN(host_waits_, HostWaits::Read(part_, read, charge_, stop_));
    std::map<std::optional<int64_t>, std::vector<const DeviceSlice*>> devices;
    for (const DeviceSlice& slice : read.slices())
      devices[part_.reader->tracks()[slice.track].device].push_back(&slice);
    for (auto& [device, slices] : devices) {
      RETURN_IF_ERROR(StillWanted(stop_));
      std::sort(slices.begin(), slices.end(), [](const DeviceSlice* a, const DeviceSlice* b) {
        return std::tie(a->begin_ns, a->end_ns, a->place) < std::tie(b->begin_ns, b->end_ns, b->place);
      });
      found.devices.push_back({.device = device, .work = static_cast<int64_t>(slices.size())});
      DeviceTraceMetrics& of = found.devices.back();
      of.metrics.Set(TraceMetric::kTotalNs, whole_.end_ns - whole_.begin_ns);
      AddTimes(slices, of);
      AddIdle(read, slices, of);
      AddKernels(read, slices, of);
      RETURN_IF_ERROR(AddCopies(slices, of));
      RETURN_IF_ERROR(AddSequences(read, device, of));
    }
    for (NamedWork& work : names_) found.kernels.push_back(std::move(work.total));
    return found;
  }

 private:
  Status ReadNames(const DeviceLaunches& read) {
    name_of_.reserve(read.slices().size());
    std::unordered_map<int64_t, uint32_t> numbers;
    const DeviceSlice* first = read.slices().data();
    for (const DeviceSlice& slice : read.slices()) {
      const auto [at, is_new] = numbers.try_emplace(slice.name, static_cast<uint32_t>(names_.size()));
      if (is_new) {
        ASSIGN_OR_RETURN(std::string name, part_.reader->ReadString(slice.name));
        names_.push_back(WorkOfName(std::move(name)));
      }
      KernelTotal& total = names_[at->second].total;
      ++total.count;
      total.sum_ns = AddLength(total.sum_ns, slice.length_ns());
      name_of_.push_back(at->second);
    }
    first_ = first;
    return OkStatus();
  }

  const NamedWork& WorkOf(const DeviceSlice* slice) const {
    return names_[name_of_[static_cast<size_t>(slice - first_)]];
  }

  void AddTimes(const std::vector<const DeviceSlice*>& slices, DeviceTraceMetrics& of) const {
    std::array<std::vector<Interval>, kKernelTypes> unions;
    for (const DeviceSlice* slice : slices) {
      AppendInterval(std::max(slice->begin_ns, whole_.begin_ns), std::min(slice->end_ns, whole_.end_ns),
                     unions[static_cast<size_t>(WorkOf(slice).total.type)]);
    }
    std::array<int64_t, size_t{1} << kKernelTypes> at_once{};
    AddTimesAtOnce(unions, at_once);
    constexpr size_t kComputeBit = size_t{1} << static_cast<size_t>(KernelType::kCompute);
    constexpr size_t kCommunicationBit = size_t{1} << static_cast<size_t>(KernelType::kCommunication);
    int64_t busy = 0;
    for (size_t types = 1; types < at_once.size(); ++types) {
      busy += at_once[types];
      if ((types & kCommunicationBit) != 0 && (types & kComputeBit) == 0) of.exposed_ns += at_once[types];
    }
    for (size_t type = 0; type < kKernelTypes; ++type) of.of_type_ns[type] = SumOfPieces(unions[type]);
    of.metrics.Set(TraceMetric::kBusyNs, busy);
    of.metrics.Set(TraceMetric::kCommunicationNs, of.of_type_ns[static_cast<size_t>(KernelType::kCommunication)]);
    of.metrics.Set(TraceMetric::kExposedCommunicationNs, of.exposed_ns);
    of.metrics.Set(TraceMetric::kCopyOnlyNs, at_once[size_t{1} << static_cast<size_t>(KernelType::kMemory)]);
  }

  struct IdleSums {
    int64_t between_ns = 0;
    int64_t host_ns = 0;
    int64_t steady_allocation_ns = 0;
    int64_t steady_allocation_gaps = 0;
    int64_t tiny_ns = 0;
  };

  bool IsTiny(const DeviceSlice* slice) const {
    return WorkOf(slice).total.type == KernelType::kCompute && slice->length_ns() < kTinyKernelNs;
  }

  // The part of a gap in which the next launch was late, by what its thread did.
  void AddHostGap(const DeviceLaunches& read, const IdleGap& gap, int64_t steady_from_ns, IdleSums& sums,
                  DeviceTraceMetrics& of) const {
    const auto add = [&of](IdleReason reason, int64_t ns) {
      if (ns == 0) return;
      of.idle_ns[static_cast<size_t>(reason)] += ns;
      ++of.idle_gaps[static_cast<size_t>(reason)];
    };
    const std::optional<uint32_t> track = ThreadOfGap(read, gap);
    const int64_t length = gap.length_ns();
    sums.host_ns += length;
    const auto reason_of = [](int64_t rest) {
      return rest > kLaunchLimitNs ? IdleReason::kHostWork : IdleReason::kLaunch;
    };
    if (!track) return add(reason_of(length), length);
    const HostWaitTimes waits = host_waits_.Within(*track, gap.time);
    add(IdleReason::kAllocation, waits.allocation_ns);
    add(IdleReason::kData, waits.data_ns);
    add(IdleReason::kSync, waits.sync_ns);
    const int64_t rest = length - waits.allocation_ns - waits.data_ns - waits.sync_ns;
    add(reason_of(rest), rest);
    if (waits.allocation_ns > 0 && gap.time.begin_ns >= steady_from_ns) {
      sums.steady_allocation_ns += waits.allocation_ns;
      ++sums.steady_allocation_gaps;
    }
  }

  void AddIdle(const DeviceLaunches& read, const std::vector<const DeviceSlice*>& slices,
               DeviceTraceMetrics& of) const {
    int64_t last_end = slices.front()->end_ns;
    for (const DeviceSlice* slice : slices) last_end = std::max(last_end, slice->end_ns);
    const int64_t steady_from = slices.front()->begin_ns + (last_end - slices.front()->begin_ns) / 2;
    IdleSums sums;
    const auto see = [&](const IdleGap& gap) {
      const int64_t length = gap.length_ns();
      const auto add = [&](IdleReason reason) {
        of.idle_ns[static_cast<size_t>(reason)] += length;
        ++of.idle_gaps[static_cast<size_t>(reason)];
      };
      if (gap.before == nullptr) return add(IdleReason::kBegin);
      if (gap.after == nullptr) return add(IdleReason::kEnd);
      sums.between_ns += length;
      if (gap.cause == IdleCause::kHostWait) return AddHostGap(read, gap, steady_from, sums, of);
      const bool is_short = gap.cause == IdleCause::kKernelWait;
      if (is_short && (IsTiny(gap.before) || IsTiny(gap.after))) sums.tiny_ns += length;
      add(is_short ? IdleReason::kKernelWait : IdleReason::kOther);
    };
    ForEachIdleGap(read, slices, whole_, kKernelWaitLimitNs, see);
    TraceMetrics& metrics = of.metrics;
    metrics.Set(TraceMetric::kIdleBetweenNs, sums.between_ns);
    metrics.Set(TraceMetric::kTinyGapNs, sums.tiny_ns);
    if (read.calls().empty()) return;
    const auto ns_of = [&of](IdleReason reason) { return of.idle_ns[static_cast<size_t>(reason)]; };
    const auto gaps_of = [&of](IdleReason reason) { return of.idle_gaps[static_cast<size_t>(reason)]; };
    metrics.Set(TraceMetric::kHostWaitNs, sums.host_ns);
    metrics.Set(TraceMetric::kSyncWaitNs, ns_of(IdleReason::kSync));
    metrics.Set(TraceMetric::kSyncGaps, gaps_of(IdleReason::kSync));
    metrics.Set(TraceMetric::kAllocationWaitNs, ns_of(IdleReason::kAllocation));
    metrics.Set(TraceMetric::kSteadyAllocationWaitNs, sums.steady_allocation_ns);
    metrics.Set(TraceMetric::kSteadyAllocationGaps, sums.steady_allocation_gaps);
    metrics.Set(TraceMetric::kLaunchWaitNs, ns_of(IdleReason::kLaunch));
    metrics.Set(TraceMetric::kLaunchGaps, gaps_of(IdleReason::kLaunch));
    metrics.Set(TraceMetric::kHostWorkNs, ns_of(IdleReason::kHostWork));
    metrics.Set(TraceMetric::kHostWorkGaps, gaps_of(IdleReason::kHostWork));
    if (!host_waits_.shows_data_loaders()) return;
    metrics.Set(TraceMetric::kDataWaitNs, ns_of(IdleReason::kData));
    metrics.Set(TraceMetric::kDataGaps, gaps_of(IdleReason::kData));
  }

  void AddKernels(const DeviceLaunches& read, const std::vector<const DeviceSlice*>& slices,
                  DeviceTraceMetrics& of) const {
    std::vector<int64_t> lengths;
    int64_t tiny = 0;
    int64_t matrix_ns = 0;
    int64_t plain_ns = 0;
    bool has_matrix = false;
    std::map<const NamedWork*, int64_t> plain;
    std::map<const NamedWork*, int64_t> communication;
    std::vector<int64_t> calls;
    for (const DeviceSlice* slice : slices) {
      if (slice->call != DeviceSlice::kNoCall) calls.push_back(slice->call);
      const NamedWork& work = WorkOf(slice);
      const int64_t length = slice->length_ns();
      if (work.total.type == KernelType::kCommunication) {
        int64_t& sum = communication[&work];
        sum = AddLength(sum, length);
      }
      if (work.total.type != KernelType::kCompute) continue;
      lengths.push_back(length);
      tiny += length < kTinyKernelNs ? 1 : 0;
      if (work.matrix == MatrixKernel::kNone) continue;
      has_matrix = true;
      matrix_ns = AddLength(matrix_ns, length);
      if (work.matrix != MatrixKernel::kPlain) continue;
      plain_ns = AddLength(plain_ns, length);
      int64_t& sum = plain[&work];
      sum = AddLength(sum, length);
    }
    TraceMetrics& metrics = of.metrics;
    metrics.Set(TraceMetric::kKernels, static_cast<int64_t>(lengths.size()));
    metrics.Set(TraceMetric::kTinyKernels, tiny);
    if (!lengths.empty()) {
      const auto middle = lengths.begin() + static_cast<ptrdiff_t>((lengths.size() - 1) / 2);
      std::nth_element(lengths.begin(), middle, lengths.end());
      metrics.Set(TraceMetric::kMedianKernelNs, *middle);
    }
    if (has_matrix) {
      metrics.Set(TraceMetric::kMatrixNs, matrix_ns);
      metrics.Set(TraceMetric::kPlainMatrixNs, plain_ns);
    }
    metrics.kernels[TraceMetrics::kPlainMatrixKernel] = LongestOf(plain);
    metrics.kernels[TraceMetrics::kCommunicationKernel] = LongestOf(communication);
    if (calls.empty()) return;
    const auto launched = static_cast<int64_t>(calls.size());
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (const int64_t call : calls) {
      const int64_t begin = read.calls()[static_cast<size_t>(call)].begin_ns;
      first = std::min(first, begin);
      last = std::max(last, begin);
    }
    const auto launches = static_cast<int64_t>(calls.size());
    metrics.Set(TraceMetric::kLaunches, launches);
    if (launches > 1) metrics.Set(TraceMetric::kMeanLaunchNs, (last - first) / (launched - 1));
  }

  static std::string LongestOf(const std::map<const NamedWork*, int64_t>& sums) {
    const NamedWork* longest = nullptr;
    int64_t most = -1;
    for (const auto& [work, ns] : sums) {
      if (ns > most || (ns == most && work->total.name < longest->total.name)) {
        longest = work;
        most = ns;
      }
    }
    return longest == nullptr ? "" : longest->total.name;
  }

  // The kernel that takes most of a sequence's first occurrence; a copy only where it has no kernel.
  std::string LongestIn(const std::vector<const DeviceSlice*>& work, const KernelSequence& sequence) const {
    std::map<const NamedWork*, int64_t> kernels;
    for (size_t i = sequence.first; i < sequence.first + sequence.length; ++i) {
      if (work[i] == nullptr || WorkOf(work[i]).total.type == KernelType::kMemory) continue;
      int64_t& sum = kernels[&WorkOf(work[i])];
      sum = AddLength(sum, work[i]->length_ns());
    }
    return kernels.empty() ? WorkOf(work[sequence.first]).total.name : LongestOf(kernels);
  }

  Status AddCopies(const std::vector<const DeviceSlice*>& slices, DeviceTraceMetrics& of) {
    std::vector<const DeviceSlice*> copies;
    std::vector<Interval> pageable;
    std::vector<Interval> others;
    int64_t pageable_copies = 0;
    bool tells_kinds = true;
    for (const DeviceSlice* slice : slices) {
      const NamedWork& work = WorkOf(slice);
      AppendInterval(std::max(slice->begin_ns, whole_.begin_ns), std::min(slice->end_ns, whole_.end_ns),
                     work.is_pageable ? pageable : others);
      pageable_copies += work.is_pageable ? 1 : 0;
      if (!work.is_host_copy) continue;
      tells_kinds &= work.is_pageable || work.is_pinned;
      copies.push_back(slice);
    }
    TraceMetrics& metrics = of.metrics;
    if (tells_kinds) {
      const int64_t pageable_ns = SumOfPieces(pageable);
      metrics.Set(TraceMetric::kPageableCopies, pageable_copies);
      metrics.Set(TraceMetric::kPageableNs, pageable_ns);
      metrics.Set(TraceMetric::kExposedPageableNs, pageable_ns - OverlapOf(pageable, others));
    }
    std::sort(copies.begin(), copies.end(),
              [](const DeviceSlice* a, const DeviceSlice* b) { return a->place < b->place; });
    std::vector<int64_t> places;
    places.reserve(copies.size());
    for (const DeviceSlice* copy : copies) places.push_back(copy->place);
    std::vector<CopySize> sizes;
    if (!places.empty()) {
      ASSIGN_OR_RETURN(sizes, ReadCopySizes(*part_.reader, places));
    }
    int64_t small = 0;
    int64_t small_bytes = 0;
    int64_t shortest = INT64_MAX;
    for (size_t i = 0; i < copies.size(); ++i) {
      if (!sizes[i].bytes) return OkStatus();  // nobody knows how many are small
      if (*sizes[i].bytes >= static_cast<double>(kSmallCopyLimit)) continue;
      ++small;
      small_bytes += static_cast<int64_t>(std::max(*sizes[i].bytes, 0.0));
      shortest = std::min(shortest, copies[i]->length_ns());
    }
    metrics.Set(TraceMetric::kSmallCopies, small);
    metrics.Set(TraceMetric::kSmallCopyBytes, small_bytes);
    metrics.Set(TraceMetric::kShortestCopyNs, small == 0 ? 0 : shortest);
    return OkStatus();
  }

  Result<bool> IsGraphLaunch(const DeviceLaunches& read, const DeviceSlice& slice) {
    if (slice.call == DeviceSlice::kNoCall) return false;
    const int64_t name = read.calls()[static_cast<size_t>(slice.call)].name;
    const auto [known, is_new] = graph_launches_.try_emplace(name, false);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string text, part_.reader->ReadString(name));
      known->second = text.find("GraphLaunch") != std::string::npos;
    }
    return known->second;
  }

  // True if the thread that launched both waited, allocated or loaded data in between.
  bool WaitsBetween(const DeviceLaunches& read, const DeviceSlice& before, const DeviceSlice& after) const {
    if (before.call == DeviceSlice::kNoCall || after.call == DeviceSlice::kNoCall) return false;
    const PartSlice& first = read.calls()[static_cast<size_t>(before.call)];
    const PartSlice& second = read.calls()[static_cast<size_t>(after.call)];
    return first.track == second.track && host_waits_.HasOneEndingIn(first.track, {first.begin_ns, second.begin_ns});
  }

  // The sequence of single launches with the most time in the gaps between its kernels.
  Status AddSequences(const DeviceLaunches& read, std::optional<int64_t> device, DeviceTraceMetrics& of) {
    if (read.calls().empty()) return OkStatus();
    constexpr SequenceBounds kBounds = {.least_length = 4, .most_length = 64, .least_count = 4};
    int64_t most_saved = -1;
    KernelSequence best;
    std::string kernel;
    for (const std::span<const DeviceSlice> stream : ByStream(read, *part_.reader, false)) {
      if (part_.reader->tracks()[stream.front().track].device != device) continue;
      std::vector<SequenceSlice> slices;
      std::vector<const DeviceSlice*> work;  // of each; null: a wait of the host, which no graph can have in it
      for (const DeviceSlice& slice : stream) {
        if (!work.empty() && WaitsBetween(read, *work.back(), slice)) {
          slices.push_back({slice.begin_ns, slice.begin_ns, -1 - static_cast<int64_t>(slices.size())});
          work.push_back(nullptr);
        }
        slices.push_back({slice.begin_ns, slice.end_ns, slice.name});
        work.push_back(&slice);
      }
      RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>((slices.size() - stream.size()) * kBytesOfSlice)));
      ASSIGN_OR_RETURN(const FoundSequences found, FindSequences(slices, kBounds, stop_));
      for (const KernelSequence& sequence : found.sequences) {
        const int64_t saved =
            sequence.gap_ns - sequence.count * static_cast<int64_t>(sequence.length - 1) * kGraphNodeNs;
        if (saved <= most_saved) continue;
        ASSIGN_OR_RETURN(const bool is_graph, IsGraphLaunch(read, *work[sequence.first]));
        if (is_graph) continue;
        most_saved = saved;
        best = sequence;
        kernel = LongestIn(work, sequence);
      }
    }
    of.metrics.Set(TraceMetric::kSequenceLength, static_cast<int64_t>(best.length));
    of.metrics.Set(TraceMetric::kSequenceCount, best.count);
    of.metrics.Set(TraceMetric::kSequenceGapNs, best.gap_ns);
    of.metrics.kernels[TraceMetrics::kSequenceKernel] = std::move(kernel);
    return OkStatus();
  }

  const TracePart& part_;
  const DeviceScope& scope_;
  const StopSignal& stop_;
  const Interval whole_;
  const size_t part_at_;
  MemoryCharge charge_;
  std::vector<NamedWork> names_;
  std::vector<uint32_t> name_of_;  // of each slice, an index of names_
  const DeviceSlice* first_ = nullptr;
  HostWaits host_waits_;
  std::unordered_map<int64_t, bool> graph_launches_;  // by the call's name
};

}  // namespace

const MetricWords& WordsOf(TraceMetric metric) {
  return kMetricWords[static_cast<size_t>(metric)];
}

Result<PartTraceMetrics> ReadPartMetrics(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                         const StopSignal& stop) {
  return PartMetricsReader(traces, part, scope, stop).Read(traces);
}

}  // namespace kprof
