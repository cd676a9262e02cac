// sum_by('name', 'category'): count, sum, least, most, mean and percentiles of durations (aggregate.h).
#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/analysis/operators/aggregate.h"
#include "daemon/analysis/sql/keyed_rows.h"

namespace kprof {
namespace {

enum Column { kKey, kKey2, kKey3, kCount, kSum, kMin, kMax, kMean, kP50, kP90, kP99 };

constexpr FunctionColumn kColumns[] = {
    {.name = "key", .which = kKey},
    {.name = "key2", .which = kKey2},
    {.name = "key3", .which = kKey3},
    {.name = "count", .type = "INTEGER", .which = kCount},
    {.name = "sum_ns", .type = "INTEGER", .which = kSum, .is_costly = true},
    {.name = "min_ns", .type = "INTEGER", .which = kMin, .is_costly = true},
    {.name = "max_ns", .type = "INTEGER", .which = kMax, .is_costly = true},
    {.name = "mean_ns", .type = "REAL", .which = kMean, .is_costly = true},
    {.name = "p50_ns", .type = "INTEGER", .which = kP50, .is_costly = true},
    {.name = "p90_ns", .type = "INTEGER", .which = kP90, .is_costly = true},
    {.name = "p99_ns", .type = "INTEGER", .which = kP99, .is_costly = true},
};
constexpr const char* kArguments[] = {"by", "by2", "by3"};
constexpr double kPercentiles[] = {50, 90, 99};
constexpr size_t kMostValues = 2 << 20;  // 16 MiB at a time

class Sums final : public FunctionAnswer {
 public:
  Sums(TraceSet& set, std::vector<SliceField> keys) : groups_(set, std::move(keys)) {}

  void Add(GroupKey values, Aggregate sum) {
    sum.key.clear();
    groups_.Add(std::move(values));
    sums_.push_back(std::move(sum));
  }

  size_t size() const override { return sums_.size(); }
  int64_t size_bytes() const override {
    return groups_.size_bytes() +
           static_cast<int64_t>(sums_.size() * (sizeof(Aggregate) + std::size(kPercentiles) * sizeof(int64_t)));
  }
  bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const override {
    return groups_.Field(row, field, out);
  }
  // Without any that has ended, as SQL's sum() of nothing but NULLs.
  void Result(size_t row, int which, sqlite3_context* out) const override {
    const Aggregate& sum = sums_[row];
    if (which <= kKey3) return groups_.Key(row, static_cast<size_t>(which), out);
    if (which == kCount) return sqlite3_result_int64(out, sum.count);
    if (sum.ended == 0) return;
    if (which == kSum) return sqlite3_result_int64(out, sum.sum_ns);
    if (which == kMin) return sqlite3_result_int64(out, sum.min_ns);
    if (which == kMax) return sqlite3_result_int64(out, sum.max_ns);
    if (which == kMean && !sum.is_whole()) return sqlite3_result_null(out);
    if (which == kMean) return sqlite3_result_double(out, sum.mean_ns());
    const auto percentile = static_cast<size_t>(which - kP50);
    if (percentile < sum.percentiles_ns.size()) sqlite3_result_int64(out, sum.percentiles_ns[percentile]);
  }

 private:
  KeyedRows groups_;
  std::vector<Aggregate> sums_;
};

Result<std::unique_ptr<FunctionAnswer>> Call(const FunctionCall& call) {
  ASSIGN_OR_RETURN(const KeyedQuestion question, MakeKeyedQuestion(call));
  AggregateRequest request;
  request.filter = call.slices.filter();
  request.by = question.by;
  request.durations = call.costly != 0;
  request.order = request.durations ? Measure::kSum : Measure::kCount;
  request.most_groups = kMostGroupsOfCall;
  request.most_values = kMostValues;
  request.take_memory = call.set.terms().take_memory;
  MemoryCharge memory(request.take_memory);  // of the rows until they are an answer
  if (call.costly >> kP50 != 0) request.percentiles.assign(std::begin(kPercentiles), std::end(kPercentiles));
  auto sums = std::make_unique<Sums>(call.set, question.keys);
  for (const ChosenParts& parts : question.asked) {
    ASSIGN_OR_RETURN(std::vector<Aggregate> found, AggregateEvents(parts.parts, request, call.stop));
    for (Aggregate& sum : found) {
      // The operator's one group of nothing is there for a question without keys alone.
      if (sum.count == 0 && !question.keys.empty()) continue;
      RETURN_IF_ERROR(memory.Grow(SizeOfKey(sum.key) + static_cast<int64_t>(sizeof(Aggregate))));
      GroupKey values = ValuesOf(question, parts, std::move(sum.key));
      sums->Add(std::move(values), std::move(sum));
    }
  }
  return std::unique_ptr<FunctionAnswer>(std::move(sums));
}

}  // namespace

TraceFunction SumBy() {
  return {"sum_by", std::size(kArguments), ColumnsOf({}, kColumns, kArguments), Call, HasKeyField};
}

}  // namespace kprof
