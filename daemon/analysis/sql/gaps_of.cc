// gaps('stream', 10): when nothing was going on, the longest times of each group (busy_time.h).
#include <iterator>
#include <memory>
#include <utility>

#include "daemon/analysis/sql/call_arguments.h"
#include "daemon/analysis/sql/keyed_rows.h"
#include "daemon/analysis/sql/slice_choice.h"

namespace kprof {
namespace {

enum Column { kKey, kBegin, kEnd, kDuration };

constexpr SliceField kShown[] = {SliceField::kRun, SliceField::kRank};
constexpr FunctionColumn kColumns[] = {
    {.name = "key", .which = kKey},
    {.name = "begin_ns", .type = "INTEGER", .which = kBegin},
    {.name = "end_ns", .type = "INTEGER", .which = kEnd},
    {.name = "gap_ns", .type = "INTEGER", .which = kDuration},
};
constexpr const char* kArguments[] = {"by", "most"};
constexpr int64_t kMostByDefault = 10;
constexpr int64_t kMostOfGroup = 10'000;

class Gaps final : public FunctionAnswer {
 public:
  Gaps(TraceSet& set, std::vector<SliceField> fields) : groups_(set, std::move(fields)) {}

  void Add(GroupKey values, const std::vector<Interval>& gaps) {
    for (const Interval& gap : gaps) gaps_.push_back({groups_.size(), gap});
    groups_.Add(std::move(values));
  }

  size_t size() const override { return gaps_.size(); }
  int64_t size_bytes() const override {
    return groups_.size_bytes() + static_cast<int64_t>(gaps_.size() * sizeof(Gap));
  }
  bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const override {
    return groups_.Field(gaps_[row].group, field, out);
  }
  void Result(size_t row, int which, sqlite3_context* out) const override {
    const Gap& gap = gaps_[row];
    if (which == kKey) return groups_.Key(gap.group, 0, out);
    sqlite3_result_int64(out, which == kBegin ? gap.time.begin_ns
                              : which == kEnd ? gap.time.end_ns
                                              : gap.time.end_ns - gap.time.begin_ns);
  }

 private:
  struct Gap {
    size_t group = 0;
    Interval time;
  };
  KeyedRows groups_;
  std::vector<Gap> gaps_;
};

Result<std::unique_ptr<FunctionAnswer>> Call(const FunctionCall& call) {
  ASSIGN_OR_RETURN(const BusyKey key, ReadBusyKey(call, 0, SliceField::kTrackId));
  ASSIGN_OR_RETURN(const int64_t most, NumberArgument(call, 1, "most", 1, kMostOfGroup, kMostByDefault));
  BusyRequest request{
      .filter = WithoutAnnotations(call.slices.filter()), .by = key.by, .most_gaps = static_cast<size_t>(most)};
  const ChosenParts& chosen = call.slices.all();
  ASSIGN_OR_RETURN(const std::vector<BusyTime> found, FindBusyTimes(chosen.parts, request, call.stop));
  auto gaps = std::make_unique<Gaps>(call.set, key.fields);
  for (const BusyTime& time : found) {
    gaps->Add(ValuesOf(key, *chosen.open[time.group.part], time.group), time.longest_gaps);
  }
  return std::unique_ptr<FunctionAnswer>(std::move(gaps));
}

}  // namespace

TraceFunction GapsOf() {
  return {"gaps", std::size(kArguments), ColumnsOf(kShown, kColumns, kArguments), Call,
          [](FunctionArguments arguments, SliceField field) {
            return HasBusyField(arguments, 0, SliceField::kTrackId, field);
          }};
}

}  // namespace kprof
