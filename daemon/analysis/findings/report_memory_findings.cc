// Findings of kernel reports on memory: DRAM, the L2's reuse, spilling, access patterns, and kernels that only copy.
#include <algorithm>
#include <optional>

#include "daemon/analysis/findings/report_rule.h"

namespace kprof {
namespace {

constexpr double kHealthyDram = 70;
constexpr double kHealthyL2Hit = 80;
constexpr double kNotableShare = 0.1;    // of accesses that are wasted
constexpr double kCopyIntensity = 0.25;  // FLOP/byte: less than an operation for each fp32 number
constexpr const char* kMemoryGuide =
    "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#memory-optimizations";
constexpr const char* kMetricsGuide = "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html";

double ShareOf(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
}

// False: it computes too little to use data again, as a copy. Nothing: its arithmetic is not counted.
std::optional<bool> Reuses(const KernelFigures& of) {
  if (of.judged().verdict.uses_tensor_cores.value_or(false)) return true;
  const auto& intensity = of.point().intensity;
  return intensity ? std::optional(*intensity >= kCopyIntensity) : std::nullopt;
}

// The share of sectors that would not be there if accesses were coalesced.
double WastedSectors(const KernelFigures& of) {
  using enum Quantity;
  const auto sectors = of.Find(kGlobalSectors);
  const auto ideal = of.Find(kGlobalSectorsIdeal);
  if (sectors && ideal) return 1 - ShareOf(*ideal, *sectors);
  return 1 - ShareOf(of[kLoadCoalescing], 100);
}

// The share of shared memory's wavefronts that are conflicts.
double WastedWavefronts(const KernelFigures& of) {
  using enum Quantity;
  const auto all = of.Find(kSharedWavefronts);
  const auto ideal = of.Find(kSharedWavefrontsIdeal);
  if (all && ideal) return *all > 0 ? 1 - ShareOf(*ideal, *all) : 0;
  const double conflicts = of[kLoadConflicts] + of.Find(kStoreConflicts).value_or(0);
  return ShareOf(conflicts, of[kLoadWavefronts] + of.Find(kStoreWavefronts).value_or(0));
}

double SpilledShare(const KernelFigures& of) {
  using enum Quantity;
  const auto spilled = of.Find(kSpillBytes);
  const auto l1 = of.Find(kL1Bytes);
  if (spilled && l1) return ShareOf(*spilled, *l1) * of.memory() / 100;
  const auto instructions = of.Find(kInstructions);
  const double local = of.Find(kLocalLoads).value_or(0) + of.Find(kLocalStores).value_or(0);
  return instructions ? ShareOf(local, *instructions) : 0;
}

}  // namespace

ReportRule LowDramThroughput() {
  using enum Quantity;
  return {.code = "low_dram_throughput",
          .category = "memory",
          .needs = {{kDramThroughput, kMemorySol, kComputeSol}},
          .is_triggered =
              [](const KernelFigures& of) {
                return of[kDramThroughput] <= kHealthyDram && of.memory() >= of.compute() &&
                       of.judged().verdict.memory_level == "dram";
              },
          .gain_percent =
              [](const KernelFigures& of) {
                const double others = std::max(
                    of.compute(), std::max(of.judged().percents.l1.value_or(0), of.judged().percents.l2.value_or(0)));
                return 100 * (1 - std::max(of[kDramThroughput] / kHealthyDram, others / 100));
              },
          .message =
              [](const KernelFigures& of) {
                return "DRAM is the busiest memory, at " + TextOfPercent(of[kDramThroughput]) +
                       " of its peak: too few bytes are in flight";
              },
          .cause = "Memory latency is not hidden",
          .hint = "More bytes in flight: higher occupancy, wider loads, asynchronous copies (cp.async, TMA), unrolling",
          .rationale = "DRAM gives its bandwidth only to a kernel that asks for much at once",
          .source = kMemoryGuide};
}

ReportRule PoorL2Reuse() {
  using enum Quantity;
  return {.code = "poor_l2_reuse",
          .category = "memory",
          .needs = {{kL2Hit, kDramThroughput, kMemorySol, kComputeSol}},
          .is_triggered =
              [](const KernelFigures& of) {
                return of[kL2Hit] <= kHealthyL2Hit && of.memory() >= of.compute() &&
                       of.judged().verdict.memory_level == "dram" && Reuses(of).value_or(true);
              },
          .gain_percent =
              [](const KernelFigures& of) {
                const double misses = 100 - of[kL2Hit];
                if (misses <= 0 || !Reuses(of)) return 0.0;
                // DRAM alone is relieved.
                return std::min(of[kDramThroughput] * (1 - (100 - kHealthyL2Hit) / misses),
                                KernelFigures::SavedAtMost(std::max({of.compute(), of.l1(), of.l2()})));
              },
          .message =
              [](const KernelFigures& of) {
                return "L2 has " + TextOfPercent(of[kL2Hit]) + " of what is asked of it, and DRAM is at " +
                       TextOfPercent(of[kDramThroughput]) +
                       (Reuses(of) ? "" : "; no arithmetic is counted that would tell it from a copy");
              },
          .cause = "Data is read from DRAM again in place of L2",
          .hint =
              "Swizzled scheduling of blocks, larger tiles, another data layout. A kernel that reads everything once "
              "has nothing to reuse",
          .rationale = "Blocks that run together and share tiles find them in L2",
          .source = kMetricsGuide};
}

ReportRule RegisterSpilling() {
  using enum Quantity;
  return {.code = "register_spilling",
          .category = "memory",
          .needs = {{kLocalLoads, kLocalStores}, {kSpillBytes}},
          .is_triggered =
              [](const KernelFigures& of) {
                return of.Find(kLocalLoads).value_or(0) + of.Find(kLocalStores).value_or(0) +
                           of.Find(kSpillBytes).value_or(0) >
                       0;
              },
          .gain_percent =
              [](const KernelFigures& of) {
                return std::min(100 * SpilledShare(of), KernelFigures::SavedAtMost(of.compute()));
              },
          .message =
              [](const KernelFigures& of) {
                const auto bytes = of.Find(kSpillBytes);
                const double local = of.Find(kLocalLoads).value_or(0) + of.Find(kLocalStores).value_or(0);
                return (local > 0 ? TextOfNumber(local) + " loads and stores of local memory in a launch"
                                  : TextOfNumber(bytes.value_or(0)) + " bytes of local memory in a launch") +
                       ": registers spill, or an array is indexed by a variable";
              },
          .cause = "Registers do not suffice",
          .hint = "Smaller tiles, fewer accumulators, a higher register limit (__launch_bounds__, maxrregcount)",
          .rationale = "Each spilled value is stored and loaded again",
          .source = kMemoryGuide};
}

ReportRule UncoalescedAccess() {
  using enum Quantity;
  return {.code = "uncoalesced_access",
          .category = "memory",
          .needs = {{kGlobalSectors, kGlobalSectorsIdeal, kMemorySol}, {kLoadCoalescing, kMemorySol}},
          .is_triggered = [](const KernelFigures& of) { return WastedSectors(of) >= kNotableShare; },
          .gain_percent =
              [](const KernelFigures& of) {
                return std::min(WastedSectors(of) * of.memory(), KernelFigures::SavedAtMost(of.compute()));
              },
          .message =
              [](const KernelFigures& of) {
                return TextOfPercent(100 * WastedSectors(of)) +
                       " of what global accesses move is not used: threads of a warp are far from each other";
              },
          .cause = "Global memory accesses are not coalesced",
          .hint = "Neighbouring threads read neighbouring addresses: another layout, or through shared memory",
          .rationale = "A warp moves whole sectors of 32 bytes, used or not",
          .source =
              "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html"
              "#coalesced-access-to-global-memory"};
}

ReportRule BankConflicts() {
  using enum Quantity;
  return {
      .code = "bank_conflicts",
      .category = "memory",
      .needs = {{kSharedWavefronts, kSharedWavefrontsIdeal, kL1Throughput},
                {kLoadConflicts, kLoadWavefronts, kL1Throughput}},
      .is_triggered = [](const KernelFigures& of) { return WastedWavefronts(of) >= kNotableShare; },
      .gain_percent =
          [](const KernelFigures& of) {
            // L1 alone is relieved.
            return std::min(WastedWavefronts(of) * of[kL1Throughput],
                            KernelFigures::SavedAtMost(std::max({of.compute(), of.l2(), of.dram()})));
          },
      .message =
          [](const KernelFigures& of) {
            return TextOfPercent(100 * WastedWavefronts(of)) +
                   " of the passes through shared memory are bank conflicts";
          },
      .cause = "Threads of a warp use one bank of shared memory at once",
      .hint = "Pad or swizzle the tile in shared memory",
      .rationale = "Conflicting accesses run one behind the other",
      .source = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#shared-memory-and-memory-banks"};
}

ReportRule CopyBoundKernel() {
  using enum Quantity;
  return {.code = "copy_bound_kernel",
          .category = "memory",
          .needs = {{kDramThroughput, kDramReadBytes, kDramWriteBytes, kMemorySol}},
          .is_triggered =
              [](const KernelFigures& of) {
                constexpr double kLeastBusy = 60;
                const auto& intensity = of.point().intensity;
                return intensity && *intensity < kCopyIntensity && of[kDramThroughput] >= kLeastBusy;
              },
          .gain_percent =
              [](const KernelFigures& of) {
                return 100 * ShareOf(of[kDramReadBytes], of[kDramReadBytes] + of[kDramWriteBytes]);
              },
          .message =
              [](const KernelFigures& of) {
                return "it moves data and hardly computes: " + TextOfNumber(of.point().intensity.value_or(0)) +
                       " FLOP for each byte, DRAM at " + TextOfPercent(of[kDramThroughput]);
              },
          .cause = "The kernel only moves data",
          .hint = "Fuse it into the kernel that makes its data, or that uses it",
          .rationale = "Fused, it reads nothing from DRAM",
          .source = "https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html"};
}

ReportRule PersistingL2() {
  using enum Quantity;
  return {.code = "persisting_l2",
          .category = "memory",
          .needs = {{kDramRate, kDuration}, {kDramBytes, kDuration}, {kDramReadBytes, kDramWriteBytes, kDuration}},
          .is_triggered =
              [](const KernelFigures& of) {
                const auto& gb_s = of.point().achieved_gb_s;
                return gb_s && of.point().bandwidth && *gb_s > of.point().bandwidth->value;
              },
          .gain_percent = [](const KernelFigures&) { return 0.0; },
          .message =
              [](const KernelFigures& of) {
                return TextOfNumber(of.point().achieved_gb_s.value_or(0)) + " GB/s are above DRAM's peak of " +
                       TextOfNumber(of.point().bandwidth ? of.point().bandwidth->value : 0) +
                       ": its bytes were counted with cold caches and its time taken with data in L2, or the peak is "
                       "another device's or clock's";
              },
          .cause = "The bandwidth is above what DRAM can do",
          .hint = "Flush caches before each pass (--cache-control all), take larger data, and see who says the peak",
          .rationale = "In its application the kernel may find L2 cold",
          .source = kMetricsGuide};
}

}  // namespace kprof
