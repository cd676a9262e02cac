// Findings of kernel reports on launches: occupancy and what limits it, waves, tails, uneven work, short kernels.
#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/analysis/findings/report_rule.h"
#include "daemon/analysis/findings/trace_metrics.h"

namespace kprof {
namespace {

constexpr double kHealthyOccupancy = 25;
constexpr double kNotableLoss = 0.1;
constexpr double kEmptyKernelNs = 1'000;  // about what a launch that does nothing takes on the device
constexpr const char* kOccupancyGuide = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#occupancy";

struct OccupancyLimiter {
  double blocks = 0;
  std::string what;  // "registers", "registers and shared memory"
  bool is_one = false;
};

OccupancyLimiter LimiterOf(const KernelFigures& of) {
  constexpr std::pair<Quantity, std::string_view> kLimits[] = {{Quantity::kLimitRegisters, "registers"},
                                                               {Quantity::kLimitShared, "shared memory"},
                                                               {Quantity::kLimitBarriers, "barriers"},
                                                               {Quantity::kLimitBlocks, "the number of blocks"},
                                                               {Quantity::kLimitWarps, "the number of warps"}};
  OccupancyLimiter limiter;
  for (const auto& [quantity, what] : kLimits) {
    const auto blocks = of.Find(quantity);
    if (!blocks) continue;
    if (limiter.what.empty() || *blocks < limiter.blocks) {
      limiter = {*blocks, std::string(what), what.starts_with("the ")};
    } else if (*blocks == limiter.blocks) {
      limiter.what += " and " + std::string(what);
      limiter.is_one = false;
    }
  }
  return limiter;
}

// A grid that does not fill the device once: what few blocks leave empty is few_waves' finding, and no limit of an SM
// binds.
bool IsSmallGrid(const KernelFigures& of) {
  return of.Find(Quantity::kWaves).value_or(1) <= 1 - kNotableLoss;
}

// The share of the last wave's places that nobody has, of all waves.
double TailOf(double waves) {
  const double whole = std::ceil(waves);
  return whole > 0 ? (whole - waves) / whole : 0;
}

}  // namespace

ReportRule LowOccupancy() {
  using enum Quantity;
  return {.code = "low_occupancy",
          .category = "underutilized",
          .needs = {{kAchievedOccupancy, kComputeSol, kMemorySol}},
          .is_triggered =
              [](const KernelFigures& of) {
                constexpr double kHealthyTensor = 60;
                constexpr double kHealthyDram = 70;
                // Few warps suffice where they keep the tensor pipe or DRAM busy.
                return of[kAchievedOccupancy] <= kHealthyOccupancy && !IsSmallGrid(of) &&
                       of.judged().percents.tensor.value_or(0) <= kHealthyTensor &&
                       of.judged().percents.dram.value_or(0) <= kHealthyDram;
              },
          .gain_percent =
              [](const KernelFigures& of) {
                return std::min(100 * (1 - of[kAchievedOccupancy] / kHealthyOccupancy), of.headroom());
              },
          .message =
              [](const KernelFigures& of) {
                return "only " + TextOfPercent(of[kAchievedOccupancy]) + " of the warps that an SM can hold are there";
              },
          .cause = "Too few warps to hide latency",
          .hint = "Reduce the tile size or the registers of a thread; give an occupancy hint (__launch_bounds__)",
          .rationale = "While a warp waits another one works, if there is one",
          .source = kOccupancyGuide};
}

ReportRule OccupancyLimit() {
  using enum Quantity;
  return {
      .code = "occupancy_limit",
      .category = "underutilized",
      .needs = {{kTheoreticalOccupancy, kLimitRegisters, kLimitShared, kLimitBlocks, kLimitWarps, kComputeSol,
                 kMemorySol}},
      .is_triggered =
          [](const KernelFigures& of) {
            constexpr double kMostLimited = 50;
            return of[kTheoreticalOccupancy] <= kMostLimited && !IsSmallGrid(of) &&
                   of.judged().verdict.bottleneck == Bottleneck::kUnderutilized;
          },
      .gain_percent = [](const KernelFigures& of) { return std::min(100 - of[kTheoreticalOccupancy], of.headroom()); },
      .message =
          [](const KernelFigures& of) {
            const OccupancyLimiter limiter = LimiterOf(of);
            return "occupancy cannot be above " + TextOfPercent(of[kTheoreticalOccupancy]) + ": " + limiter.what +
                   " allow" + (limiter.is_one ? "s " : " ") + TextOfNumber(limiter.blocks) +
                   (limiter.blocks == 1 ? " block" : " blocks") + " on an SM";
          },
      .cause = "A resource limits the occupancy",
      .hint = "Less of what limits it for each block: registers (__launch_bounds__), shared memory, or larger blocks",
      .rationale = "More blocks then fit on an SM at once",
      .source = kOccupancyGuide};
}

ReportRule OccupancyLoss() {
  using enum Quantity;
  return {.code = "occupancy_loss",
          .category = "underutilized",
          .needs = {{kAchievedOccupancy, kTheoreticalOccupancy, kComputeSol, kMemorySol}},
          .is_triggered =
              [](const KernelFigures& of) {
                return of[kAchievedOccupancy] < of[kTheoreticalOccupancy] * (1 - 2 * kNotableLoss) &&
                       !IsSmallGrid(of) && of.judged().verdict.bottleneck == Bottleneck::kUnderutilized;
              },
          .gain_percent =
              [](const KernelFigures& of) {
                return std::min(100 * (1 - of[kAchievedOccupancy] / of[kTheoreticalOccupancy]), of.headroom());
              },
          .message =
              [](const KernelFigures& of) {
                return TextOfPercent(of[kAchievedOccupancy]) + " of the warps are there, where " +
                       TextOfPercent(of[kTheoreticalOccupancy]) + " could be: blocks end unevenly, or are too few";
              },
          .cause = "Warps are missing that would fit",
          .hint = "Even out the work of blocks and warps; more blocks",
          .rationale = "An SM that waits for its last warp has no others to run",
          .source = kOccupancyGuide};
}

ReportRule FewWaves() {
  using enum Quantity;
  return {.code = "few_waves",
          .category = "underutilized",
          .needs = {{kWaves, kComputeSol, kMemorySol}},
          // A persistent kernel has one block for each place, and just fills the device.
          .is_triggered = &IsSmallGrid,
          .gain_percent = [](const KernelFigures& of) { return std::min(100 * (1 - of[kWaves]), of.headroom()); },
          .message =
              [](const KernelFigures& of) {
                return "the grid fills " + TextOfNumber(of[kWaves]) + " of the device once: " +
                       (of.Find(kGridBlocks) ? TextOfNumber(of[kGridBlocks]) + " blocks" : "too few blocks");
              },
          .cause = "The grid does not fill the device",
          .hint = "More blocks (split the reduction, smaller tiles), fewer resources for each",
          .rationale = "SMs without a block do nothing",
          .source =
              "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html"
              "#wave-quant"};
}

ReportRule TailEffect() {
  using enum Quantity;
  return {.code = "tail_effect",
          .category = "underutilized",
          .needs = {{kWaves}},
          .is_triggered = [](const KernelFigures& of) { return of[kWaves] > 1 && TailOf(of[kWaves]) >= kNotableLoss; },
          .gain_percent = [](const KernelFigures& of) { return std::min(100 * TailOf(of[kWaves]), of.headroom()); },
          .message =
              [](const KernelFigures& of) {
                return TextOfNumber(of[kWaves]) + " waves take as long as " + TextOfNumber(std::ceil(of[kWaves])) +
                       ": the last one is not full";
              },
          .cause = "The last wave of blocks is not full",
          .hint = "A grid that is a multiple of a wave, smaller tiles, or a persistent kernel that deals out its work",
          .rationale = "While the last blocks run, other SMs have nothing to do",
          .source =
              "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html"
              "#wave-quant"};
}

ReportRule UnevenWork() {
  using enum Quantity;
  return {.code = "uneven_work",
          .category = "underutilized",
          .needs = {{kSmCyclesMax, kSmCyclesMean}},
          .is_triggered =
              [](const KernelFigures& of) {
                return of[kSmCyclesMax] > 0 && 1 - of[kSmCyclesMean] / of[kSmCyclesMax] >= kNotableLoss;
              },
          .gain_percent =
              [](const KernelFigures& of) {
                return std::min(100 * (1 - of[kSmCyclesMean] / of[kSmCyclesMax]), of.headroom());
              },
          .message =
              [](const KernelFigures& of) {
                return "the busiest SM works " + TextOfNumber(of[kSmCyclesMax]) + " cycles, all on average " +
                       TextOfNumber(of[kSmCyclesMean]);
              },
          .cause = "SMs have unequal work",
          .hint = "Blocks of equal work, more and smaller ones, or a queue of work",
          .rationale = "The kernel ends when the busiest SM does",
          .source = "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html"};
}

ReportRule LaunchBoundKernel() {
  using enum Quantity;
  return {.code = "launch_bound_kernel",
          .category = "underutilized",
          .needs = {{kDuration}},
          .is_triggered =
              [](const KernelFigures& of) {
                return of[kDuration] > 0 && of[kDuration] < static_cast<double>(kTinyKernelNs);
              },
          .gain_percent = [](const KernelFigures& of) { return 100 * std::min(1.0, kEmptyKernelNs / of[kDuration]); },
          .message =
              [](const KernelFigures& of) {
                const std::string time = "a launch takes " + TextOfNumber(of[kDuration]) + " ns";
                return of[kDuration] > kEmptyKernelNs ? time + ", and an empty kernel about 1000"
                                                      : time + ", no longer than an empty kernel";
              },
          .cause = "The kernel is hardly longer than an empty one",
          .hint = "Fuse it with its neighbours, give it more work, or launch it in a CUDA graph",
          .rationale = "The cost of a launch is the same for a long kernel",
          .source = "https://developer.nvidia.com/blog/cuda-graphs/"};
}

}  // namespace kprof
