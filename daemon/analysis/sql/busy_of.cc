// busy('track'): how long something was going on (busy_time.h).
#include <iterator>
#include <memory>
#include <utility>

#include "daemon/analysis/sql/keyed_rows.h"
#include "daemon/analysis/sql/slice_choice.h"

namespace kprof {
namespace {

enum Column { kKey, kSlices, kBusy, kIdle, kFirst, kLast, kGaps };

constexpr SliceField kShown[] = {SliceField::kRun, SliceField::kRank};
constexpr FunctionColumn kColumns[] = {
    {.name = "key", .which = kKey},
    {.name = "slices", .type = "INTEGER", .which = kSlices},
    {.name = "busy_ns", .type = "INTEGER", .which = kBusy},
    {.name = "idle_ns", .type = "INTEGER", .which = kIdle},
    {.name = "first_ns", .type = "INTEGER", .which = kFirst},
    {.name = "last_ns", .type = "INTEGER", .which = kLast},
    {.name = "gaps", .type = "INTEGER", .which = kGaps},
};
constexpr const char* kArguments[] = {"by"};

class BusyTimes final : public FunctionAnswer {
 public:
  BusyTimes(TraceSet& set, std::vector<SliceField> fields) : groups_(set, std::move(fields)) {}

  void Add(GroupKey values, const BusyTime& time) {
    groups_.Add(std::move(values));
    times_.push_back(time);
  }

  size_t size() const override { return times_.size(); }
  int64_t size_bytes() const override {
    return groups_.size_bytes() + static_cast<int64_t>(times_.size() * sizeof(BusyTime));
  }
  bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const override {
    return groups_.Field(row, field, out);
  }
  void Result(size_t row, int which, sqlite3_context* out) const override {
    const BusyTime& time = times_[row];
    if (which == kKey) return groups_.Key(row, 0, out);
    if (which == kSlices) return sqlite3_result_int64(out, time.slices);
    if (which == kBusy) return sqlite3_result_int64(out, time.busy_ns);
    if (time.busy_ns == 0) return;  // nothing filled any time
    if (which == kIdle) return sqlite3_result_int64(out, time.last_ns - time.first_ns - time.busy_ns);
    if (which == kFirst) return sqlite3_result_int64(out, time.first_ns);
    if (which == kLast) return sqlite3_result_int64(out, time.last_ns);
    sqlite3_result_int64(out, time.gaps);
  }

 private:
  KeyedRows groups_;
  std::vector<BusyTime> times_;
};

Result<std::unique_ptr<FunctionAnswer>> Call(const FunctionCall& call) {
  ASSIGN_OR_RETURN(const BusyKey key, ReadBusyKey(call, 0, SliceField::kTrackId));
  BusyRequest request{.filter = WithoutAnnotations(call.slices.filter()), .by = key.by};
  const ChosenParts& chosen = call.slices.all();
  ASSIGN_OR_RETURN(const std::vector<BusyTime> found, FindBusyTimes(chosen.parts, request, call.stop));
  auto times = std::make_unique<BusyTimes>(call.set, key.fields);
  for (const BusyTime& time : found) times->Add(ValuesOf(key, *chosen.open[time.group.part], time.group), time);
  return std::unique_ptr<FunctionAnswer>(std::move(times));
}

}  // namespace

TraceFunction BusyOf() {
  return {"busy", std::size(kArguments), ColumnsOf(kShown, kColumns, kArguments), Call,
          [](FunctionArguments arguments, SliceField field) {
            return HasBusyField(arguments, 0, SliceField::kTrackId, field);
          }};
}

}  // namespace kprof
