#include "daemon/analysis/functions/kernel_reports/kernel_work.h"

#include <algorithm>
#include <set>

#include "daemon/devices/peaks/peaks_in_use.h"

namespace kprof {
namespace {

constexpr double kBytesOfSector = 32;
constexpr double kTensorInUsePercent = 5;

struct CountedOps {
  std::string_view dtype;
  std::string_view add;
  std::string_view multiply;
  std::string_view both;  // multiply and add in one: two operations
};
constexpr CountedOps kCountedOps[] = {
    {"fp32", "fadd", "fmul", "ffma"}, {"fp64", "dadd", "dmul", "dfma"}, {"fp16", "hadd", "hmul", "hfma"}};

// A count of a launch by the stem of its metric, in whichever form a report has it.
class LaunchCounts {
 public:
  LaunchCounts(const KernelReports& reports, size_t launch)
      : reports_(reports), launch_(launch), ns_(*reports.DurationNs(launch)) {}

  std::optional<double> Of(const std::string& stem) const {
    if (const auto sum = reports_.Raw(launch_, stem + ".sum")) return *sum;
    if (const auto rate = reports_.Raw(launch_, stem + ".sum.per_second")) return *rate * ns_ / 1e9;
    const auto per_cycle = reports_.Raw(launch_, stem + ".sum.per_cycle_elapsed");
    const auto hz = HzOf(stem);
    if (per_cycle && hz) return *per_cycle * *hz * ns_ / 1e9;
    return std::nullopt;
  }
  std::optional<double> OfQuantity(Quantity quantity) const {
    const auto found = reports_.Find(launch_, quantity);
    return found ? std::optional(found->value) : std::nullopt;
  }
  double ns() const { return ns_; }

 private:
  std::optional<double> HzOf(std::string_view stem) const {
    const Quantity clock = stem.starts_with("smsp__") ? Quantity::kSmspClock : Quantity::kSmClock;
    const auto found = reports_.Find(launch_, clock);
    if (found) return found->value;
    const auto other = reports_.Find(launch_, clock == Quantity::kSmClock ? Quantity::kSmspClock : Quantity::kSmClock);
    return other ? std::optional(other->value) : std::nullopt;
  }

  const KernelReports& reports_;
  const size_t launch_;
  const double ns_;
};

std::optional<double> ThreadOps(const LaunchCounts& counts, std::string_view op) {
  for (const std::string_view prefix : {"smsp__sass_thread_inst_executed_op_", "sm__sass_thread_inst_executed_op_"}) {
    const auto found = counts.Of(std::string(prefix) + std::string(op) + "_pred_on");
    if (found) return found;
  }
  return std::nullopt;
}

// FLOP of ordinary units, for types whose three counts are all there.
void AddThreadWork(const KernelReports& reports, size_t launch, const LaunchCounts& counts,
                   std::map<WorkKind, double>& flops) {
  for (const CountedOps& ops : kCountedOps) {
    const auto add = ThreadOps(counts, ops.add);
    const auto multiply = ThreadOps(counts, ops.multiply);
    auto both = ThreadOps(counts, ops.both);
    if (!both) {  // reports with a roofline chart have it twice as large, per cycle
      const std::string stem = "derived__smsp__sass_thread_inst_executed_op_" + std::string(ops.both) + "_pred_on_x2";
      const auto twice = reports.Raw(launch, stem);
      const auto hz = counts.OfQuantity(Quantity::kSmspClock);
      if (twice && hz) both = *twice / 2 * *hz * counts.ns() / 1e9;
    }
    if (add && multiply && both) flops[{std::string(ops.dtype), false}] += *add + *multiply + 2 * *both;
  }
}

// The stems of counters of tensor operations, without those that count a part of another one.
std::vector<std::string> TensorStems(const KernelReports& reports) {
  std::set<std::string> stems;
  for (const std::string& metric : reports.metrics()) {
    if (!metric.starts_with(kTensorOpsPrefix)) continue;
    const size_t dot = metric.find(".sum");
    if (dot != metric.npos) stems.insert(metric.substr(0, dot));
  }
  // "..._sparsity_on" and "..._sparsity_off" are parts of the same without; "..._op_hmma_src_..." one of "..._src_...".
  const bool has_whole = std::any_of(stems.begin(), stems.end(), [](const std::string& stem) {
    return stem.substr(kTensorOpsPrefix.size()).starts_with("src_");
  });
  std::vector<std::string> chosen;
  for (const std::string& stem : stems) {
    if (has_whole && !stem.substr(kTensorOpsPrefix.size()).starts_with("src_")) continue;
    const size_t sparsity = stem.find("_sparsity_");
    if (sparsity != stem.npos && stems.contains(stem.substr(0, sparsity))) continue;
    chosen.push_back(stem);
  }
  return chosen;
}

// "sm__ops_path_tensor_src_bf16_dst_fp32" -> "bf16"; of several narrow types together the widest, which is last.
std::string DtypeOfStem(const std::string& stem) {
  const size_t begin = stem.find("src_");
  const size_t end = stem.find("_dst_");
  if (begin == stem.npos || end == stem.npos || end <= begin + 4) return "";
  const std::string types = stem.substr(begin + 4, end - begin - 4);
  const size_t last = types.rfind('_');
  return last == types.npos ? types : types.substr(last + 1);
}

void AddTensorWork(const KernelReports& reports, const ReportKernel& kernel, size_t launch, const LaunchCounts& counts,
                   const std::vector<std::string>& stems, std::map<WorkKind, double>& flops,
                   std::vector<std::string>& warnings) {
  double all = 0;
  bool is_counted = false;
  std::map<WorkKind, double> tensor;
  for (const std::string& stem : stems) {
    const auto count = counts.Of(stem);
    const std::string dtype = DtypeOfStem(stem);
    if (!count || dtype.empty() || dtype.starts_with("int") || dtype.starts_with("uint")) continue;
    is_counted = true;
    all += *count;
    tensor[{dtype, true}] += *count;
  }
  const auto instructions = reports.Raw(launch, kTensorInstructions);
  if (!is_counted && instructions && kernel.compute_capability == "7.0") {
    constexpr double kFlopsOfInstruction = 512;  // of Volta's HMMA, as NERSC's roofline methodology has it
    tensor[{"fp16", true}] = all = *instructions * kFlopsOfInstruction;
    is_counted = true;
  }
  const auto pipe = counts.OfQuantity(Quantity::kTensorPipe);
  const bool is_busy = pipe && *pipe > kTensorInUsePercent;
  if (is_busy && (!is_counted || all == 0)) {
    const std::string warning =
        is_counted ? "the tensor pipe was active, and the counters of its operations say 0: its FLOP are not known"
                   : "the tensor pipe was active, and no counter of its operations is there: its FLOP are not known";
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
    flops.clear();  // the rest would pass for all of it
    return;
  }
  for (const auto& [kind, count] : tensor) flops[kind] += count;
}

std::optional<double> BytesOf(const LaunchCounts& counts, MemoryLevel level) {
  switch (level) {
    case MemoryLevel::kDram: {
      if (const auto all = counts.OfQuantity(Quantity::kDramBytes)) return all;
      const auto read = counts.OfQuantity(Quantity::kDramReadBytes);
      const auto written = counts.OfQuantity(Quantity::kDramWriteBytes);
      if (read && written) return *read + *written;
      const auto rate = counts.OfQuantity(Quantity::kDramRate);
      return rate ? std::optional(*rate * counts.ns() / 1e9) : std::nullopt;
    }
    case MemoryLevel::kL2: {
      if (const auto all = counts.Of("lts__t_bytes")) return all;
      const auto sectors = counts.OfQuantity(Quantity::kL2Sectors);
      return sectors ? std::optional(*sectors * kBytesOfSector) : std::nullopt;
    }
    case MemoryLevel::kL1: {
      if (const auto all = counts.Of("l1tex__t_bytes")) return all;
      const auto sectors = counts.OfQuantity(Quantity::kL1Sectors);
      return sectors ? std::optional(*sectors * kBytesOfSector) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

Ceiling CeilingOf(const Peak& peak) {
  return {peak.value, std::string(PeakConfidenceName(peak.confidence)), peak.source};
}

std::string_view MemoryLevelName(MemoryLevel level) {
  constexpr std::string_view kNames[] = {"dram", "l2", "l1"};
  return kNames[static_cast<size_t>(level)];
}

double KernelWork::all_flops() const {
  double all = 0;
  for (const auto& [kind, count] : flops) all += count;
  return all;
}

const WorkKind* KernelWork::most() const {
  const WorkKind* found = nullptr;
  double most = 0;
  for (const auto& [kind, count] : flops) {
    if (count <= most) continue;
    most = count;
    found = &kind;
  }
  return found;
}

KernelWork WorkOf(const KernelReports& reports, const ReportKernel& kernel) {
  KernelWork work;
  const std::vector<std::string> stems = TensorStems(reports);
  int64_t counted = 0;
  std::array<int64_t, kMemoryLevels> with_bytes{};
  std::array<double, kMemoryLevels> bytes{};
  int64_t with_flops = 0;
  for (const size_t launch : kernel.launches) {
    const auto ns = reports.DurationNs(launch);
    if (!ns || *ns <= 0) continue;
    ++counted;
    work.ns += *ns;
    const LaunchCounts counts(reports, launch);
    std::map<WorkKind, double> flops;
    AddThreadWork(reports, launch, counts, flops);
    AddTensorWork(reports, kernel, launch, counts, stems, flops, work.warnings);
    if (!flops.empty()) ++with_flops;
    for (const auto& [kind, count] : flops) work.flops[kind] += count;
    for (size_t i = 0; i < kMemoryLevels; ++i) {
      const auto of = BytesOf(counts, static_cast<MemoryLevel>(i));
      if (!of) continue;
      ++with_bytes[i];
      bytes[i] += *of;
    }
  }
  // Sums of some launches over the time of all would be too small.
  if (with_flops < counted) work.flops.clear();
  for (size_t i = 0; i < kMemoryLevels; ++i) {
    if (counted > 0 && with_bytes[i] == counted) work.bytes[i] = bytes[i];
  }
  return work;
}

Result<KernelRoof> KernelRoof::Of(const KernelReports& reports, const ReportKernel& kernel,
                                  const std::string& fallback_name) {
  KernelRoof roof;
  roof.device_name_ = kernel.device_name.empty() ? fallback_name : kernel.device_name;
  ASSIGN_OR_RETURN(const PeakTable* const table, PeaksInUse());
  if (!roof.device_name_.empty()) {
    roof.peaks_ = table->Find(DeviceKind::kNvidia, roof.device_name_);
    if (roof.peaks_ == nullptr) roof.peaks_ = table->Find(DeviceKind::kAmd, roof.device_name_);
  }
  const auto mean = [&](Quantity quantity) -> std::optional<double> {
    const auto spread = reports.SpreadOf(kernel, quantity);
    return spread ? std::optional(spread->mean) : std::nullopt;
  };
  const auto ffma = mean(Quantity::kPeakFfma);
  const auto sm_clock = mean(Quantity::kSmClock);
  if (ffma && sm_clock) roof.ffma_rate_ = *ffma * 2 * *sm_clock / 1e12;
  constexpr std::pair<Quantity, Quantity> kPeaks[kMemoryLevels] = {{Quantity::kPeakDramBytes, Quantity::kDramClock},
                                                                   {Quantity::kPeakL2Bytes, Quantity::kL2Clock},
                                                                   {Quantity::kPeakL1Bytes, Quantity::kL1Clock}};
  for (size_t i = 0; i < kMemoryLevels; ++i) {
    const auto bytes = mean(kPeaks[i].first);
    const auto hz = mean(kPeaks[i].second);
    if (bytes && hz) roof.bandwidths_[i] = *bytes * *hz / 1e9;
  }
  return roof;
}

std::optional<Ceiling> KernelRoof::ReportedRateOf(const WorkKind& kind) const {
  if (kind.on_tensor_cores || kind.dtype != "fp32" || !ffma_rate_) return std::nullopt;
  return Ceiling{*ffma_rate_, "medium", "the report: FFMA per cycle at the SM clock of the measurement"};
}

std::optional<Ceiling> KernelRoof::ReportedBandwidth(MemoryLevel level) const {
  const auto& bandwidth = bandwidths_[static_cast<size_t>(level)];
  if (!bandwidth) return std::nullopt;
  return Ceiling{*bandwidth, "medium", "the report: bytes per cycle at the clock of the measurement"};
}

std::optional<Ceiling> KernelRoof::RateOf(const WorkKind& kind) const {
  const Peak* const peak = peaks_ ? peaks_->Find(kDenseRate, kind.dtype, kind.accumulate()) : nullptr;
  return peak != nullptr ? CeilingOf(*peak) : ReportedRateOf(kind);
}

std::optional<Ceiling> KernelRoof::Bandwidth(MemoryLevel level) const {
  if (level != MemoryLevel::kDram) return ReportedBandwidth(level);
  const Peak* const peak = peaks_ ? peaks_->Find(kMemoryBandwidth) : nullptr;
  return peak != nullptr ? CeilingOf(*peak) : ReportedBandwidth(level);
}

RoofPoint PointUnder(const KernelRoof& roof, const KernelWork& work, MemoryLevel level) {
  RoofPoint point;
  const std::optional<double> bytes = work.bytes[static_cast<size_t>(level)];
  const WorkKind* const most = work.most();
  point.bandwidth = roof.Bandwidth(level);
  if (most != nullptr) point.rate = roof.RateOf(*most);
  if (work.ns > 0 && bytes) point.achieved_gb_s = *bytes / work.ns;  // bytes in a ns are GB in a second
  if (work.ns > 0 && !work.flops.empty()) point.achieved_tflops = work.all_flops() / work.ns / 1e3;
  if (bytes && *bytes > 0 && !work.flops.empty()) point.intensity = work.all_flops() / *bytes;
  if (point.rate && point.bandwidth) point.ridge = point.rate->value * 1e3 / point.bandwidth->value;
  if (!bytes || !point.bandwidth || work.ns <= 0 || work.flops.empty()) return point;
  // Pipes work side by side: the busiest one bounds the arithmetic.
  double compute_ns = 0;
  for (const auto& [kind, flops] : work.flops) {
    if (flops <= 0) continue;
    const std::optional<Ceiling> rate = roof.RateOf(kind);
    if (!rate) return point;
    compute_ns = std::max(compute_ns, flops / (rate->value * 1e3));
  }
  const double least_ns = std::max(compute_ns, *bytes / point.bandwidth->value);
  if (least_ns <= 0) return point;
  point.attainable = work.all_flops() / least_ns / 1e3;
  point.percent = 100 * least_ns / work.ns;
  return point;
}

}  // namespace kprof
