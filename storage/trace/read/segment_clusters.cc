#include "storage/trace/read/segment_clusters.h"

#include <algorithm>
#include <utility>

namespace kprof {

std::vector<SegmentCluster> ClustersOf(std::span<const Segment> segments) {
  std::vector<Segment> sorted(segments.begin(), segments.end());
  std::sort(sorted.begin(), sorted.end(), [](const Segment& a, const Segment& b) {
    return std::pair(a.min_time_ns, a.id) < std::pair(b.min_time_ns, b.id);
  });
  std::vector<SegmentCluster> clusters;
  int64_t end = 0;
  for (const Segment& segment : sorted) {
    // What was cut of one ordered whole may have one time on both sides of the cut.
    if (clusters.empty() || segment.min_time_ns >= end) {
      clusters.emplace_back();
      end = segment.max_time_ns;
    }
    clusters.back().push_back(segment);
    end = std::max(end, segment.max_time_ns);
  }
  return clusters;
}

}  // namespace kprof
