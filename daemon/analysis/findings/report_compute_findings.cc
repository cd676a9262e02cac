// Findings of kernel reports on arithmetic: tensor cores that are idle or not used, stalls of warps, divergence.
#include <algorithm>
#include <tuple>

#include "daemon/analysis/findings/matrix_kernels.h"
#include "daemon/analysis/findings/report_rule.h"

namespace kprof {
namespace {

constexpr double kHealthyTensor = 60;
constexpr double kTensorGain = 1.0 - 1.0 / 7;  // as low_tensor_core_share has it
constexpr double kThreadsOfWarp = 32;

// Its arithmetic could run on tensor cores: by its name it multiplies matrices, or it counts fp16.
bool IsEligible(const KernelFigures& of) {
  if (MatrixKernelOf(of.kernel().name) != MatrixKernel::kNone) return true;
  const WorkKind* const most = of.work().most();
  return most != nullptr && (most->dtype == "fp16" || most->dtype == "bf16");
}

struct TopStall {
  double cycles = 0;
  Quantity quantity = Quantity::kIssueLatency;
  std::string_view name;  // "long_scoreboard"
  std::string_view meaning;
};

TopStall TopStallOf(const KernelFigures& of) {
  constexpr std::tuple<Quantity, std::string_view, std::string_view> kStalls[] = {
      {Quantity::kStallLongScoreboard, "long_scoreboard", "data from L1, L2 or DRAM"},
      {Quantity::kStallShortScoreboard, "short_scoreboard", "shared memory or special functions"},
      {Quantity::kStallBarrier, "barrier", "other warps at a barrier"},
      {Quantity::kStallMathPipe, "math_pipe_throttle", "a busy arithmetic pipe"},
      {Quantity::kStallMioThrottle, "mio_throttle", "the queue of shared memory and special functions"},
      {Quantity::kStallLgThrottle, "lg_throttle", "the queue of loads and stores"},
      {Quantity::kStallWait, "wait", "the fixed latency of instructions"}};
  TopStall top;
  for (const auto& [quantity, name, meaning] : kStalls) {
    const auto cycles = of.Find(quantity);
    if (cycles && *cycles > top.cycles) top = {*cycles, quantity, name, meaning};
  }
  return top;
}

double StallShare(const KernelFigures& of) {
  const double latency = of[Quantity::kIssueLatency];
  return latency > 0 ? std::min(1.0, TopStallOf(of).cycles / latency) : 0;
}

}  // namespace

ReportRule LowTensorUse() {
  using enum Quantity;
  return {.code = "low_tensor_use",
          .category = "compute",
          .needs = {{kTensorPipe, kDramThroughput, kMemorySol, kComputeSol}},
          .is_triggered =
              [](const KernelFigures& of) {
                constexpr double kHealthyDram = 70;
                return of.judged().verdict.uses_tensor_cores.value_or(false) && of[kTensorPipe] <= kHealthyTensor &&
                       of[kDramThroughput] <= kHealthyDram;
              },
          .gain_percent =
              [](const KernelFigures& of) {
                return 100 * (1 - std::max(of[kTensorPipe] / kHealthyTensor, of.memory() / 100));
              },
          .message =
              [](const KernelFigures& of) {
                return "the tensor pipe is active " + TextOfPercent(of[kTensorPipe]) + " of the time, DRAM at " +
                       TextOfPercent(of[kDramThroughput]) + ": it waits for data or instructions";
              },
          .cause = "Tensor cores wait",
          .hint =
              "Deeper pipelines (asynchronous copies, more stages), larger tiles, warp specialization; check DRAM and "
              "occupancy",
          .rationale = "Tensor cores work only while their operands are there",
          .source = "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html"};
}

ReportRule NoTensorCores() {
  using enum Quantity;
  return {.code = "no_tensor_cores",
          .category = "compute",
          .needs = {{kTensorPipe, kMemorySol, kComputeSol}},
          .is_triggered =
              [](const KernelFigures& of) {
                return !of.judged().verdict.uses_tensor_cores.value_or(true) && IsEligible(of) &&
                       of.compute() >= of.memory();
              },
          .gain_percent =
              [](const KernelFigures& of) { return std::min(100 * kTensorGain, std::max(0.0, 100 - of.memory())); },
          .message =
              [](const KernelFigures& of) {
                return "its arithmetic could run on tensor cores, whose pipe is active " +
                       TextOfPercent(of[kTensorPipe]) + " of the time";
              },
          .cause = "Matrix arithmetic runs on ordinary units",
          .hint = "float16, bfloat16 or TF32 operands with sizes that are multiples of 8; mma or wgmma instructions",
          .rationale = "Tensor cores have about seven times the rate",
          .source = "https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html"};
}

ReportRule WarpStalls() {
  using enum Quantity;
  return {.code = "warp_stalls",
          .category = "underutilized",
          .needs = {{kIssueLatency, kStallLongScoreboard, kStallShortScoreboard, kStallBarrier, kStallMathPipe,
                     kStallMioThrottle, kStallLgThrottle, kStallWait, kComputeSol, kMemorySol}},
          .is_triggered =
              [](const KernelFigures& of) {
                constexpr double kNotable = 0.3;
                return StallShare(of) >= kNotable && of.headroom() >= 20;
              },
          .trigger = [](const KernelFigures& of) { return TopStallOf(of).quantity; },
          .gain_percent = [](const KernelFigures& of) { return std::min(100 * StallShare(of), of.headroom()); },
          .message =
              [](const KernelFigures& of) {
                const TopStall top = TopStallOf(of);
                return "of " + TextOfNumber(of[kIssueLatency]) + " cycles between two instructions of a warp, " +
                       TextOfNumber(top.cycles) + " wait for " + std::string(top.meaning) + " (" +
                       std::string(top.name) + ")";
              },
          .cause = "Warps wait",
          .hint =
              "Loads earlier and more of them (unrolling, asynchronous copies), fewer barriers, more warps; "
              "`kprofctl analyze source` shows the lines",
          .rationale = "A scheduler issues nothing while all of its warps wait",
          .source = "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#statistical-sampler"};
}

ReportRule ThreadDivergence() {
  using enum Quantity;
  return {.code = "thread_divergence",
          .category = "compute",
          .needs = {{kActiveThreads, kComputeSol}},
          .is_triggered =
              [](const KernelFigures& of) {
                constexpr double kLeastThreads = 24;
                return of[kActiveThreads] < kLeastThreads;
              },
          .gain_percent =
              [](const KernelFigures& of) {
                return std::min((1 - of[kActiveThreads] / kThreadsOfWarp) * of.compute(),
                                KernelFigures::SavedAtMost(of.memory()));
              },
          .message =
              [](const KernelFigures& of) {
                return "an instruction runs for " + TextOfNumber(of[kActiveThreads]) + " of 32 threads, on average";
              },
          .cause = "Threads of a warp take different branches",
          .hint = "Branches by warp and not by thread; sort the work; no threads without work in a block",
          .rationale = "A warp goes through each branch that one of its threads takes",
          .source = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#branching-and-divergence"};
}

}  // namespace kprof
