// Findings of communication: what no computation hides, and ranks that have more to do than others.
#include "daemon/analysis/findings/finding_rule.h"

namespace kprof {

FindingRule ExposedCommunication() {
  using enum TraceMetric;
  return {.code = "exposed_communication",
          .needs = {kTotalNs, kExposedCommunicationNs, kCommunicationNs},
          .is_triggered = [](const TraceMetrics& m) { return IsShare(m[kExposedCommunicationNs], m[kTotalNs], 50); },
          .gain_ns = [](const TraceMetrics& m) { return m[kExposedCommunicationNs]; },
          .message =
              [](const TraceMetrics& m) {
                return TextOfNs(m[kExposedCommunicationNs]) + " of communication are hidden by no computation, " +
                       TextOfShare(m[kExposedCommunicationNs], m[kCommunicationNs]) + " of all of it";
              },
          .kernel = TraceMetrics::kCommunicationKernel,
          .hint =
              "Overlap it: larger or earlier buckets (DDP bucket_cap_mb, FSDP prefetch), a stream of its own, async "
              "collectives. Waiting for a late rank is part of it, which overlap does not help: see collectives",
          .source = "https://pytorch.org/docs/stable/notes/ddp.html",
          .kind = "overlap"};
}

FindingRule RankImbalance() {
  using enum TraceMetric;
  return {.code = "rank_imbalance",
          .scope = FindingScope::kRun,
          .needs = {kTotalNs, kRanks, kMostComputeNs, kMostComputeRank, kMeanComputeNs},
          .is_triggered =
              [](const TraceMetrics& m) {
                const int64_t more = m[kMostComputeNs] - m[kMeanComputeNs];
                return IsShare(more, m[kMeanComputeNs], 50) && IsShare(more, m[kTotalNs], 20);
              },
          .gain_ns = [](const TraceMetrics& m) { return m[kMostComputeNs] - m[kMeanComputeNs]; },
          .message =
              [](const TraceMetrics& m) {
                return "rank " + std::to_string(m[kMostComputeRank]) + " computes " +
                       TextOfShare(m[kMostComputeNs] - m[kMeanComputeNs], m[kMeanComputeNs]) +
                       " longer than the mean of " + std::to_string(m[kRanks]) + " ranks";
              },
          .hint = "Even out the work: lengths of sequences, experts, pipeline stages; or look for a slower device",
          .source = "https://hta.readthedocs.io/en/latest/source/features/temporal_breakdown.html",
          .kind = "collectives"};
}

}  // namespace kprof
