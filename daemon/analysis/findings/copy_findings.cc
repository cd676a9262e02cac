// Findings of copies between host and device.
#include <algorithm>

#include "daemon/analysis/findings/finding_rule.h"

namespace kprof {
namespace {

// Many copies as one: the fixed cost, which the shortest of them shows, is paid once. What other work hides is no gain.
int64_t GainOfBatching(const TraceMetrics& m) {
  using enum TraceMetric;
  const int64_t copies = std::max<int64_t>(m[kSmallCopies], 1);
  int64_t saved = 0;
  if (__builtin_mul_overflow(copies - 1, m[kShortestCopyNs], &saved)) saved = INT64_MAX;
  return std::min(saved, m[kCopyOnlyNs]);
}

}  // namespace

FindingRule SmallCopies() {
  using enum TraceMetric;
  return {.code = "small_copies",
          .needs = {kTotalNs, kSmallCopies, kSmallCopyBytes, kShortestCopyNs, kCopyOnlyNs},
          .is_triggered =
              [](const TraceMetrics& m) { return m[kSmallCopies] >= 10 && IsShare(GainOfBatching(m), m[kTotalNs], 5); },
          .gain_ns = GainOfBatching,
          .message =
              [](const TraceMetrics& m) {
                return std::to_string(m[kSmallCopies]) + " copies of less than 64 KiB between host and device, " +
                       TextOfNs(m[kShortestCopyNs]) + " or more each";
              },
          .hint = "Copy once what is copied in pieces: pack tensors into one, keep scalars and indexes on the device",
          .source =
              "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html"
              "#data-transfer-between-host-and-device",
          .kind = "memory-bandwidth"};
}

FindingRule PageableCopies() {
  using enum TraceMetric;
  return {.code = "pageable_copies",
          .needs = {kTotalNs, kExposedPageableNs, kPageableNs, kPageableCopies},
          .is_triggered = [](const TraceMetrics& m) { return IsShare(m[kExposedPageableNs], m[kTotalNs], 10); },
          .gain_ns = [](const TraceMetrics& m) { return m[kExposedPageableNs]; },
          .message =
              [](const TraceMetrics& m) {
                return TextOfCount(m[kPageableCopies], "copy", "copies") + " of pageable memory, " +
                       TextOfNs(m[kPageableNs]) + ", of which " + TextOfNs(m[kExposedPageableNs]) +
                       " with nothing beside it";
              },
          .hint =
              "Pin the host's memory (pin_memory=True) and copy with non_blocking=True: such copies are faster, and "
              "run beside kernels",
          .source = "https://developer.nvidia.com/blog/how-optimize-data-transfers-cuda-cc/",
          .kind = "memory-bandwidth"};
}

}  // namespace kprof
