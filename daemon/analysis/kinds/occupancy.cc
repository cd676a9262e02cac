// How full the kernels' threads kept the devices, by time. Docs: docs/analyses/occupancy.md.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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
#include "daemon/analysis/functions/kernel_types.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/functions/slice_args.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

enum OccupancyTable : size_t { kOccupancyRanks, kOccupancyKernels };

// The figures of a launch, and the arguments that say them: PyTorch's, and those of nsys.
enum FillFigure : size_t { kOccupancy, kWarps, kBlocksPerSm, kRegisters, kShared, kThreads, kBlocks, kFilled };
constexpr size_t kFigures = 8;
const std::vector<std::string_view> kFillKeys = {"est. achieved occupancy %",
                                                 "warps per SM",
                                                 "blocks per SM",
                                                 "registers per thread",
                                                 "shared memory",
                                                 "block",
                                                 "grid",
                                                 "registersPerThread",
                                                 "blockX",
                                                 "blockY",
                                                 "blockZ",
                                                 "gridX",
                                                 "gridY",
                                                 "gridZ",
                                                 "staticSharedMemory",
                                                 "dynamicSharedMemory"};
enum FillKey : size_t {
  kBlockKey = 5,
  kGridKey = 6,
  kNsysRegistersKey = 7,
  kNsysBlockKey = 8,
  kNsysGridKey = 11,
  kNsysStaticKey = 14,
  kNsysDynamicKey = 15
};
constexpr size_t kNsysAxes = 3;

// The profiler writes 0 where it cannot work the occupancy out (a block with much shared memory), and rounds what is
// below 1 % to 0. No device holds more than kMostWarpsPerSm, so a launch with this many warps has 1 % or more.
constexpr double kMostWarpsPerSm = 64;
constexpr double kWarpsOfOnePercent = kMostWarpsPerSm / 100;

// A mean by time, of launches that say it.
struct WeightedMean {
  double sum = 0;
  int64_t known_ns = 0;

  void Add(double value, int64_t ns) {
    sum += value * static_cast<double>(ns);
    known_ns = SaturatingSum(known_ns, ns);
  }
  void Add(const WeightedMean& other) {
    sum += other.sum;
    known_ns = SaturatingSum(known_ns, other.known_ns);
  }
  AnalysisValue value() const {
    return known_ns > 0 ? AnalysisValue(sum / static_cast<double>(known_ns)) : AnalysisValue();
  }
};

struct KernelFill {
  std::string name;
  int64_t count = 0;
  int64_t sum_ns = 0;
  int64_t impossible = 0;  // launches whose occupancy cannot be what is recorded
  std::array<WeightedMean, kFigures> figures;

  void Add(const KernelFill& other) {
    count += other.count;
    impossible += other.impossible;
    sum_ns = SaturatingSum(sum_ns, other.sum_ns);
    for (size_t i = 0; i < kFigures; ++i) figures[i].Add(other.figures[i]);
  }
};

// "[4,1,1]" as the number of all: 4. Nothing for what is no list of numbers.
std::optional<double> VolumeOf(std::string_view list) {
  double volume = 1;
  int64_t digits = -1;
  for (const char c : list) {
    if (c >= '0' && c <= '9' && digits < int64_t{1} << 40) {
      digits = std::max<int64_t>(digits, 0) * 10 + (c - '0');
    } else if (c == ',' || c == ']') {
      if (digits < 0) return std::nullopt;
      volume *= static_cast<double>(digits);
      digits = -1;
    } else if (c != '[' && c != ' ') {
      return std::nullopt;
    }
  }
  return list.starts_with('[') && list.ends_with(']') ? std::optional(volume) : std::nullopt;
}

class PartFills {
 public:
  PartFills(PartReader& reader, SliceArgs args) : reader_(reader), args_(std::move(args)), slices_(reader) {}

  Status Read(const PartFilter& kernels, std::optional<int64_t> from, std::optional<int64_t> to,
              const AnalysisTraces& traces, const StopSignal& stop) {
    MemoryCharge charge(traces.take_memory());
    return kernels.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
      RETURN_IF_ERROR(slices_.Read(segment, selection));
      RETURN_IF_ERROR(args_.Read(segment, selection, values_));
      std::unordered_map<int64_t, KernelFill>* fills_of_track = nullptr;
      uint32_t last_track = 0;
      for (size_t i = 0; i < slices_.size(); ++i) {
        const int64_t begin = std::max(slices_.begin_ns(i), from.value_or(INT64_MIN));
        const int64_t end = std::min(slices_.end_ns(i), to.value_or(INT64_MAX));
        const int64_t ns = std::max<int64_t>(end - begin, 0);
        if (fills_of_track == nullptr || slices_.track(i) != last_track) {
          last_track = slices_.track(i);
          fills_of_track = &fills_[reader_.tracks()[last_track].device];
        }
        const auto [found, is_new] = fills_of_track->try_emplace(slices_.name(i));
        if (is_new) {
          RETURN_IF_ERROR(charge.Grow(sizeof(KernelFill) + 64));
          ASSIGN_OR_RETURN(found->second.name, reader_.ReadString(slices_.name(i)));
        }
        KernelFill& fill = found->second;
        ++fill.count;
        fill.sum_ns = SaturatingSum(fill.sum_ns, ns);
        if (ns > 0) RETURN_IF_ERROR(AddFigures(i, ns, fill));
      }
      return OkStatus();
    });
  }

  // By device, then by name.
  const std::map<std::optional<int64_t>, std::unordered_map<int64_t, KernelFill>>& fills() const { return fills_; }

 private:
  Status AddFigures(size_t i, int64_t ns, KernelFill& fill) {
    ASSIGN_OR_RETURN(const std::optional<double> warps, args_.NumberOf(values_[kWarps][i]));
    for (const size_t figure : {kOccupancy, kWarps, kBlocksPerSm, kRegisters, kShared}) {
      ASSIGN_OR_RETURN(const std::optional<double> number, args_.NumberOf(values_[figure][i]));
      if (!number) continue;
      const bool is_impossible = *number < 0 || (*number == 0 && warps.value_or(0) >= kWarpsOfOnePercent);
      if (figure == kOccupancy && is_impossible) {
        ++fill.impossible;
        continue;
      }
      fill.figures[figure].Add(*number, ns);
      if (figure == kBlocksPerSm) fill.figures[kFilled].Add(std::clamp(*number, 0.0, 1.0) * 100, ns);
    }
    RETURN_IF_ERROR(AddVolume(i, ns, kBlockKey, kNsysBlockKey, fill.figures[kThreads]));
    RETURN_IF_ERROR(AddVolume(i, ns, kGridKey, kNsysGridKey, fill.figures[kBlocks]));
    ASSIGN_OR_RETURN(const std::optional<double> registers, args_.NumberOf(values_[kNsysRegistersKey][i]));
    if (registers) fill.figures[kRegisters].Add(*registers, ns);
    ASSIGN_OR_RETURN(const std::optional<double> of_program, args_.NumberOf(values_[kNsysStaticKey][i]));
    ASSIGN_OR_RETURN(const std::optional<double> of_launch, args_.NumberOf(values_[kNsysDynamicKey][i]));
    if (of_program && of_launch) fill.figures[kShared].Add(*of_program + *of_launch, ns);
    return OkStatus();
  }

  Status AddVolume(size_t i, int64_t ns, size_t list, size_t axis, WeightedMean& mean) {
    const SliceArg& arg = values_[list][i];
    if (arg.type == ArgType::kJson) {
      const auto [known, is_new] = volumes_.try_emplace(arg.value);
      if (is_new) {
        ASSIGN_OR_RETURN(const std::string text, reader_.ReadString(arg.value));
        known->second = VolumeOf(text);
      }
      if (known->second) mean.Add(*known->second, ns);
      return OkStatus();
    }
    double volume = 1;
    for (size_t of_axis = axis; of_axis < axis + kNsysAxes; ++of_axis) {
      ASSIGN_OR_RETURN(const std::optional<double> number, args_.NumberOf(values_[of_axis][i]));
      if (!number) return OkStatus();
      volume *= *number;
    }
    mean.Add(volume, ns);
    return OkStatus();
  }

  PartReader& reader_;
  SliceArgs args_;
  std::map<std::optional<int64_t>, std::unordered_map<int64_t, KernelFill>> fills_;
  std::unordered_map<int64_t, std::optional<double>> volumes_;  // by a string's number
  SliceColumns slices_;
  std::vector<std::vector<SliceArg>> values_;
};

struct FilledKernel {
  size_t part = 0;
  std::optional<int64_t> device;
  KernelFill fill;
  int64_t all_ns = 0;  // of all kernels of its device
};

Status AddFills(const AnalysisTraces& traces, size_t part, const PartFills& fills, PartNotes& notes,
                AnalysisAnswer& answer, std::vector<FilledKernel>& kernels) {
  const AnalysisValue rank = ValueOf(traces.parts()[part].rank);
  for (const auto& [device, of_device] : fills.fills()) {
    KernelFill all;
    for (const auto& [name, fill] : of_device) all.Add(fill);
    for (const auto& [name, fill] : of_device) kernels.push_back({part, device, fill, all.sum_ns});
    const WeightedMean& occupancy = all.figures[kOccupancy];
    RETURN_IF_ERROR(answer.AddRow(
        kOccupancyRanks, {traces.run(part), rank, ValueOf(device), occupancy.value(), all.figures[kFilled].value(),
                          all.figures[kWarps].value(), all.figures[kBlocksPerSm].value(), all.sum_ns,
                          occupancy.known_ns, PercentOf(occupancy.known_ns, all.sum_ns), all.count}));
    if (occupancy.known_ns == 0) {
      notes.Add(part, "the occupancy of its kernels was not recorded");
    }
    if (all.impossible > 0) {
      notes.Add(part, "the occupancy of " + std::to_string(all.impossible) + " of " + std::to_string(all.count) +
                          " kernels is recorded as 0 or less, which cannot be: it counts as not known");
    }
  }
  return OkStatus();
}

Result<AnalysisAnswer> AnswerOccupancy(const AnalysisTraces& traces, const AnalysisOptions& options,
                                       const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  std::vector<FilledKernel> kernels;
  PartNotes notes;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    EventFilter filter = scope.WorkOf(part);
    filter.accepts_name = [](std::string_view name) { return TypeOfKernel(name) != KernelType::kMemory; };
    ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, traces.parts()[part], EventKind::kSlice));
    if (bound.never()) continue;
    PartReader& reader = *traces.parts()[part].reader;
    ASSIGN_OR_RETURN(SliceArgs args, SliceArgs::Find(reader, kFillKeys));
    PartFills fills(reader, std::move(args));
    RETURN_IF_ERROR(fills.Read(bound, scope.from_ns(part), scope.to_ns(part), traces, stop));
    RETURN_IF_ERROR(AddFills(traces, part, fills, notes, answer, kernels));
  }
  std::sort(kernels.begin(), kernels.end(), [](const FilledKernel& a, const FilledKernel& b) {
    return std::tie(b.fill.sum_ns, a.part, a.device, a.fill.name) <
           std::tie(a.fill.sum_ns, b.part, b.device, b.fill.name);
  });
  for (const FilledKernel& kernel : kernels) {
    const auto& figures = kernel.fill.figures;
    RETURN_IF_ERROR(answer.AddRow(
        kOccupancyKernels,
        {traces.run(kernel.part), ValueOf(traces.parts()[kernel.part].rank), ValueOf(kernel.device), kernel.fill.name,
         figures[kOccupancy].value(), kernel.fill.sum_ns, PercentOf(kernel.fill.sum_ns, kernel.all_ns),
         kernel.fill.count, figures[kFilled].value(), figures[kWarps].value(), figures[kBlocksPerSm].value(),
         figures[kThreads].value(), figures[kBlocks].value(), figures[kRegisters].value(), figures[kShared].value()}));
  }
  notes.AddTo(traces, answer);
  if (kernels.empty()) answer.AddNote("no kernels: nothing ran on a device in what was asked for");
  return answer;
}

}  // namespace

AnalysisKind Occupancy() {
  using enum AnalysisType;
  constexpr const char* kFilledMeaning = "The share of the device that has a block: blocks per SM, at most 1";
  return {.name = "occupancy",
          .version = 1,
          .question = "How full did the kernels keep the devices while they ran?",
          .options = {kTraceScope},
          .tables = {{"ranks",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"device", kInteger, "", "The device"},
                       {"occupancy_percent", kReal, "percent", "Estimated achieved occupancy, by the kernels' time"},
                       {"sm_filled_percent", kReal, "percent", kFilledMeaning},
                       {"warps_per_sm", kReal, "", "By the kernels' time"},
                       {"blocks_per_sm", kReal, "", "By the kernels' time"},
                       {"sum_ns", kInteger, "ns", "The time of its kernels, added up"},
                       {"known_ns", kInteger, "ns", "Of that, with a known occupancy"},
                       {"known_percent", kReal, "percent", "known_ns of sum_ns"},
                       {"kernels", kInteger, "", "How many kernels ran"}}},
                     {"kernels",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"device", kInteger, "", "The device"},
                       {"name", kText, "", "The kernel"},
                       {"occupancy_percent", kReal, "percent", "Estimated achieved occupancy, by time"},
                       {"sum_ns", kInteger, "ns", "How long it ran, added up"},
                       {"percent", kReal, "percent", "sum_ns of that of all kernels of its device"},
                       {"count", kInteger, "", "How often it ran"},
                       {"sm_filled_percent", kReal, "percent", kFilledMeaning},
                       {"warps_per_sm", kReal, "", "By time"},
                       {"blocks_per_sm", kReal, "", "By time"},
                       {"threads_per_block", kReal, "", "By time"},
                       {"blocks", kReal, "", "Of its grid, by time"},
                       {"registers_per_thread", kReal, "", "By time"},
                       {"shared_memory_bytes", kReal, "bytes", "Of a block, by time"}}}},
          .answer = &AnswerOccupancy};
}

}  // namespace kprof
