// histogram(width_ns, first_ns, buckets): how durations are distributed (duration_histogram.h).
#include <iterator>
#include <memory>
#include <utility>

#include "daemon/analysis/operators/duration_histogram.h"
#include "daemon/analysis/sql/call_arguments.h"

namespace kprof {
namespace {

enum Column { kAtLeast, kBelow, kCount, kSum };

constexpr FunctionColumn kColumns[] = {
    {.name = "at_least_ns", .type = "INTEGER", .which = kAtLeast},
    {.name = "below_ns", .type = "INTEGER", .which = kBelow},
    {.name = "count", .type = "INTEGER", .which = kCount},
    {.name = "sum_ns", .type = "INTEGER", .which = kSum},
};
constexpr const char* kArguments[] = {"width_ns", "first_ns", "buckets"};
constexpr int64_t kMostBuckets = 65'536;
constexpr int64_t kBucketsByDefault = 1'000;

class Buckets final : public FunctionAnswer {
 public:
  explicit Buckets(DurationHistogram histogram) : histogram_(std::move(histogram)) {}

  size_t size() const override { return histogram_.buckets.size() + (histogram_.without_end > 0 ? 1 : 0); }
  int64_t size_bytes() const override { return static_cast<int64_t>(size() * sizeof(HistogramBucket)); }
  bool FieldResult(size_t, SliceField, sqlite3_context*) const override { return false; }
  // After all buckets, those whose end is not known: between nothing.
  void Result(size_t row, int which, sqlite3_context* out) const override {
    if (row == histogram_.buckets.size()) {
      if (which == kCount) sqlite3_result_int64(out, histogram_.without_end);
      return;
    }
    const HistogramBucket& bucket = histogram_.buckets[row];
    if (which == kAtLeast) return sqlite3_result_int64(out, bucket.from_ns);
    if (which == kCount) return sqlite3_result_int64(out, bucket.count);
    if (which == kSum) return sqlite3_result_int64(out, bucket.sum_ns);
    if (bucket.to_ns != INT64_MAX) sqlite3_result_int64(out, bucket.to_ns);
  }

 private:
  const DurationHistogram histogram_;
};

Result<std::unique_ptr<FunctionAnswer>> Call(const FunctionCall& call) {
  HistogramRequest request;
  request.filter = call.slices.filter();
  ASSIGN_OR_RETURN(request.width_ns, NumberArgument(call, 0, "width_ns", 0, INT64_MAX, 0));
  ASSIGN_OR_RETURN(request.first_ns, NumberArgument(call, 1, "first_ns", 0, INT64_MAX, 0));
  ASSIGN_OR_RETURN(const int64_t buckets, NumberArgument(call, 2, "buckets", 1, kMostBuckets, kBucketsByDefault));
  request.buckets = static_cast<size_t>(buckets);
  ASSIGN_OR_RETURN(DurationHistogram histogram, CountDurations(call.slices.all().parts, request, call.stop));
  return std::unique_ptr<FunctionAnswer>(std::make_unique<Buckets>(std::move(histogram)));
}

}  // namespace

TraceFunction HistogramOf() {
  return {"histogram", std::size(kArguments), ColumnsOf({}, kColumns, kArguments), Call,
          [](FunctionArguments, SliceField) { return false; }};
}

}  // namespace kprof
