#include "daemon/analysis/operators/duration_histogram.h"

#include <algorithm>
#include <bit>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

constexpr size_t kMostBuckets = 65'536;
constexpr size_t kDoublingBuckets = 64;

size_t BucketOf(const HistogramRequest& request, int64_t duration) {
  if (request.width_ns == 0) return static_cast<size_t>(std::bit_width(static_cast<uint64_t>(duration)));
  if (duration < request.first_ns) return 0;
  return std::min(static_cast<size_t>((duration - request.first_ns) / request.width_ns), request.buckets - 1);
}

int64_t BeginOf(const HistogramRequest& request, size_t bucket) {
  if (request.width_ns == 0) return bucket == 0 ? 0 : int64_t{1} << (bucket - 1);
  int64_t begin = 0;
  if (__builtin_mul_overflow(request.width_ns, static_cast<int64_t>(bucket), &begin)) return INT64_MAX;
  return SaturatingSum(begin, request.first_ns);
}

}  // namespace

Result<DurationHistogram> CountDurations(TraceParts parts, const HistogramRequest& request, const StopSignal& stop) {
  if (request.width_ns < 0 || request.first_ns < 0 || request.buckets < 1 || request.buckets > kMostBuckets) {
    return Fail(ErrorCode::kUsage, "count durations", "there are no such buckets",
                "ask for 1 to 65,536 of a width of at least 1 ns, from 0 on");
  }
  DurationHistogram histogram;
  histogram.buckets.resize(request.width_ns == 0 ? kDoublingBuckets : request.buckets);
  size_t used = 0;
  for (const TracePart& part : parts) {
    ASSIGN_OR_RETURN(const PartFilter filter, PartFilter::Bind(request.filter, part, EventKind::kSlice));
    RETURN_IF_ERROR(filter.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
      ASSIGN_OR_RETURN(const DecodedColumn durations, part.reader->Read(segment, EventColumn::kDuration));
      const size_t rows = selection.all ? segment.rows : selection.rows.size();
      for (size_t i = 0; i < rows; ++i) {
        const int64_t duration = (*durations)[selection.all ? i : selection.rows[i]];
        if (!IsKnown(duration)) {
          ++histogram.without_end;
          continue;
        }
        const size_t bucket = BucketOf(request, duration);
        used = std::max(used, bucket + 1);
        ++histogram.buckets[bucket].count;
        histogram.buckets[bucket].sum_ns = SaturatingSum(histogram.buckets[bucket].sum_ns, duration);
      }
      return OkStatus();
    }));
  }
  for (size_t i = 0; i < histogram.buckets.size(); ++i) {
    histogram.buckets[i].from_ns = BeginOf(request, i);
    histogram.buckets[i].to_ns = i + 1 == histogram.buckets.size() ? INT64_MAX : BeginOf(request, i + 1);
  }
  histogram.buckets.resize(used);
  return histogram;
}

}  // namespace kprof
