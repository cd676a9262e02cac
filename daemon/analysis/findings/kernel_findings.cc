// Findings of kernels: too many tiny ones, sequences that a graph could launch at once, and matrix products that do not
// use the matrix units.
#include <algorithm>

#include "daemon/analysis/findings/finding_rule.h"

namespace kprof {
namespace {

// A graph leaves kGraphNodeNs between its kernels. Time in which another stream was at work is no gain.
int64_t GainOfGraph(const TraceMetrics& m) {
  using enum TraceMetric;
  const int64_t left = m[kSequenceCount] * std::max<int64_t>(m[kSequenceLength] - 1, 0) * kGraphNodeNs;
  return std::max<int64_t>(std::min(m[kSequenceGapNs] - left, m[kIdleBetweenNs]), 0);
}

}  // namespace

FindingRule KernelFragmentation() {
  using enum TraceMetric;
  return {.code = "kernel_fragmentation",
          .needs = {kTotalNs, kTinyKernels, kKernels, kTinyGapNs, kMedianKernelNs},
          .is_triggered =
              [](const TraceMetrics& m) {
                return IsShare(m[kTinyKernels], m[kKernels], 500) && IsShare(m[kTinyGapNs], m[kTotalNs], 20);
              },
          .gain_ns = [](const TraceMetrics& m) { return m[kTinyGapNs]; },
          .message =
              [](const TraceMetrics& m) {
                return std::to_string(m[kTinyKernels]) + " of " + std::to_string(m[kKernels]) +
                       " kernels take less than 5 us; idle " + TextOfNs(m[kTinyGapNs]) + " in short gaps beside them";
              },
          .hint = "Fuse them: torch.compile, fused optimizers (fused=True or foreach=True), a kernel of your own",
          .source = "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html#fuse-operations",
          .kind = "sequences"};
}

FindingRule GraphCandidate() {
  using enum TraceMetric;
  return {.code = "graph_candidate",
          .needs = {kTotalNs, kSequenceGapNs, kSequenceCount, kSequenceLength, kIdleBetweenNs},
          .is_triggered = [](const TraceMetrics& m) { return IsShare(GainOfGraph(m), m[kTotalNs], 20); },
          .gain_ns = GainOfGraph,
          .message =
              [](const TraceMetrics& m) {
                return std::to_string(m[kSequenceLength]) + " kernels in a row, " + std::to_string(m[kSequenceCount]) +
                       " times, launched one by one: " + TextOfNs(m[kSequenceGapNs]) + " between them";
              },
          .kernel = TraceMetrics::kSequenceKernel,
          .hint =
              "Capture it as a CUDA graph (torch.cuda.graph, torch.compile(mode=\"reduce-overhead\")): one launch, "
              "about 1 us between kernels",
          .source = "https://developer.nvidia.com/blog/cuda-graphs/",
          .kind = "sequences"};
}

FindingRule LowTensorCoreShare() {
  using enum TraceMetric;
  return {.code = "low_tensor_core_share",
          .needs = {kTotalNs, kPlainMatrixNs, kMatrixNs},
          .is_triggered =
              [](const TraceMetrics& m) {
                return IsShare(m[kPlainMatrixNs], m[kMatrixNs], 100) && IsShare(m[kPlainMatrixNs], m[kTotalNs], 20);
              },
          .gain_ns = [](const TraceMetrics& m) { return m[kPlainMatrixNs] - m[kPlainMatrixNs] / 7; },
          .message =
              [](const TraceMetrics& m) {
                return "matrix products off tensor cores, by name: " + TextOfNs(m[kPlainMatrixNs]) + ", " +
                       TextOfShare(m[kPlainMatrixNs], m[kMatrixNs]) + " of all of them";
              },
          .kernel = TraceMetrics::kPlainMatrixKernel,
          .hint =
              "Compute in float16 or bfloat16 (autocast), or from Ampere on in TF32 "
              "(torch.set_float32_matmul_precision(\"high\")), with sizes that are multiples of 8",
          .source = "https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html",
          .kind = "kernel-breakdown"};
}

}  // namespace kprof
