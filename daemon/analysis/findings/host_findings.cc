// Findings of the host: the device has nothing to do, as the host launches its next work late. The reasons exclude each
// other: time of one gap counts for one of them.
#include "daemon/analysis/findings/finding_rule.h"

namespace kprof {

FindingRule LaunchBound() {
  using enum TraceMetric;
  return {.code = "launch_bound",
          .needs = {kTotalNs, kLaunchWaitNs, kLaunchGaps, kLaunches, kMedianKernelNs, kMeanLaunchNs},
          .is_triggered =
              [](const TraceMetrics& m) {
                return IsShare(m[kLaunchWaitNs], m[kTotalNs], 50) && m[kMedianKernelNs] < m[kMeanLaunchNs];
              },
          .gain_ns = [](const TraceMetrics& m) { return m[kLaunchWaitNs]; },
          .message =
              [](const TraceMetrics& m) {
                return "waits " + TextOfNs(m[kLaunchWaitNs]) + " for launches in " +
                       TextOfCount(m[kLaunchGaps], "gap", "gaps") + "; one in " + TextOfNs(m[kMeanLaunchNs]) +
                       ", kernels of " + TextOfNs(m[kMedianKernelNs]);
              },
          .hint =
              "Launch less and earlier: CUDA graphs or torch.compile(mode=\"reduce-overhead\"), larger batches, fused "
              "optimizers; take work off the launching thread",
          .source = "https://pytorch.org/blog/accelerating-pytorch-with-cuda-graphs/",
          .kind = "launch-stats"};
}

FindingRule HostWorkBound() {
  using enum TraceMetric;
  return {.code = "host_work_bound",
          .needs = {kTotalNs, kHostWorkNs, kHostWorkGaps},
          .is_triggered = [](const TraceMetrics& m) { return IsShare(m[kHostWorkNs], m[kTotalNs], 50); },
          .gain_ns = [](const TraceMetrics& m) { return m[kHostWorkNs]; },
          .message =
              [](const TraceMetrics& m) {
                return "idle " + TextOfNs(m[kHostWorkNs]) + " in " + TextOfCount(m[kHostWorkGaps], "gap", "gaps") +
                       " of a millisecond or more before the host launched again";
              },
          .hint =
              "See what the host did in the longest gaps (Python, files, other libraries), and take it off the thread "
              "that launches, or out of the loop",
          .source = "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
          .kind = "idle-breakdown"};
}

FindingRule SyncBound() {
  using enum TraceMetric;
  return {.code = "sync_bound",
          .needs = {kTotalNs, kSyncWaitNs, kSyncGaps},
          .is_triggered = [](const TraceMetrics& m) { return IsShare(m[kSyncWaitNs], m[kTotalNs], 20); },
          .gain_ns = [](const TraceMetrics& m) { return m[kSyncWaitNs]; },
          .message =
              [](const TraceMetrics& m) {
                return "idle " + TextOfNs(m[kSyncWaitNs]) + " in " + TextOfCount(m[kSyncGaps], "gap", "gaps") +
                       " behind calls in which the host waited for the device";
              },
          .hint =
              "Take synchronisation out of the loop: .item(), .cpu(), nonzero(), prints of losses; copy with "
              "non_blocking=True from pinned memory",
          .source = "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
          .kind = "idle-breakdown"};
}

FindingRule DataLoaderBound() {
  using enum TraceMetric;
  return {.code = "data_loader_bound",
          .needs = {kTotalNs, kDataWaitNs, kDataGaps},
          .is_triggered = [](const TraceMetrics& m) { return IsShare(m[kDataWaitNs], m[kTotalNs], 20); },
          .gain_ns = [](const TraceMetrics& m) { return m[kDataWaitNs]; },
          .message =
              [](const TraceMetrics& m) {
                return "idle " + TextOfNs(m[kDataWaitNs]) + " in " + TextOfCount(m[kDataGaps], "gap", "gaps") +
                       " while the launching thread waits for its data";
              },
          .hint =
              "Load ahead: DataLoader(num_workers=..., prefetch_factor=..., persistent_workers=True, "
              "pin_memory=True); move transforms to the workers or to the device",
          .source = "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
          .kind = "idle-breakdown"};
}

FindingRule AllocatorStalls() {
  using enum TraceMetric;
  return {.code = "allocator_stalls",
          .needs = {kTotalNs, kSteadyAllocationWaitNs, kSteadyAllocationGaps, kAllocationWaitNs},
          .is_triggered = [](const TraceMetrics& m) { return IsShare(m[kSteadyAllocationWaitNs], m[kTotalNs], 10); },
          .gain_ns = [](const TraceMetrics& m) { return m[kSteadyAllocationWaitNs]; },
          .message =
              [](const TraceMetrics& m) {
                return "idle " + TextOfNs(m[kSteadyAllocationWaitNs]) + " in " +
                       TextOfCount(m[kSteadyAllocationGaps], "gap", "gaps") +
                       " of the second half while memory is allocated or freed";
              },
          .hint =
              "Let the caching allocator keep what it has: no empty_cache() in the loop, "
              "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, equal shapes, less memory in use",
          .source = "https://pytorch.org/docs/stable/notes/cuda.html#memory-management",
          .kind = "idle-breakdown"};
}

}  // namespace kprof
