// overlap('nccl*'): how long two kinds of slices went on, and both at once (busy_time.h).
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "daemon/analysis/sql/call_arguments.h"
#include "daemon/analysis/sql/keyed_rows.h"
#include "daemon/analysis/sql/slice_choice.h"

namespace kprof {
namespace {

enum Column { kKey, kOne, kOther, kBoth };
enum Argument { kOneWords, kOtherWords, kBy };

constexpr SliceField kShown[] = {SliceField::kRun, SliceField::kRank};
constexpr FunctionColumn kColumns[] = {
    {.name = "key", .which = kKey},
    {.name = "one_ns", .type = "INTEGER", .which = kOne},
    {.name = "other_ns", .type = "INTEGER", .which = kOther},
    {.name = "both_ns", .type = "INTEGER", .which = kBoth},
};
constexpr const char* kArguments[] = {"one", "other", "by"};

class Overlaps final : public FunctionAnswer {
 public:
  Overlaps(TraceSet& set, std::vector<SliceField> fields) : groups_(set, std::move(fields)) {}

  void Add(GroupKey values, const OverlapTime& time) {
    groups_.Add(std::move(values));
    times_.push_back(time);
  }

  size_t size() const override { return times_.size(); }
  int64_t size_bytes() const override {
    return groups_.size_bytes() + static_cast<int64_t>(times_.size() * sizeof(OverlapTime));
  }
  bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const override {
    return groups_.Field(row, field, out);
  }
  void Result(size_t row, int which, sqlite3_context* out) const override {
    const OverlapTime& time = times_[row];
    if (which == kKey) return groups_.Key(row, 0, out);
    sqlite3_result_int64(out, which == kOne ? time.one_ns : which == kOther ? time.other_ns : time.both_ns);
  }

 private:
  KeyedRows groups_;
  std::vector<OverlapTime> times_;
};

Result<std::unique_ptr<FunctionAnswer>> Call(const FunctionCall& call) {
  ASSIGN_OR_RETURN(const std::string* one, TextArgument(call, kOneWords, kArguments[kOneWords]));
  ASSIGN_OR_RETURN(const std::string* other, TextArgument(call, kOtherWords, kArguments[kOtherWords]));
  ASSIGN_OR_RETURN(const BusyKey key, ReadBusyKey(call, kBy, SliceField::kPart));
  if (one == nullptr) {
    return FailCall(call.function, "it is not said of what", "write overlap('nccl*'), or overlap('nccl*', '*gemm*')");
  }
  const EventFilter& all = call.slices.filter();
  OverlapRequest request;
  request.by = key.by;
  ASSIGN_OR_RETURN(request.one, WithWords(call.function, all, *one, call.stop));
  ASSIGN_OR_RETURN(request.other, other != nullptr ? WithWords(call.function, all, *other, call.stop)
                                                   : WithoutWords(call.function, all, *one, call.stop));
  const ChosenParts& chosen = call.slices.all();
  ASSIGN_OR_RETURN(const std::vector<OverlapTime> found, FindOverlaps(chosen.parts, request, call.stop));
  auto times = std::make_unique<Overlaps>(call.set, key.fields);
  for (const OverlapTime& time : found) times->Add(ValuesOf(key, *chosen.open[time.group.part], time.group), time);
  return std::unique_ptr<FunctionAnswer>(std::move(times));
}

}  // namespace

TraceFunction OverlapOf() {
  return {"overlap", std::size(kArguments), ColumnsOf(kShown, kColumns, kArguments), Call,
          [](FunctionArguments arguments, SliceField field) {
            return HasBusyField(arguments, kBy, SliceField::kPart, field);
          }};
}

}  // namespace kprof
