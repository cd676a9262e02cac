// self_time('name'): what slices take themselves, without what lies within them (self_time.h).
#include <iterator>
#include <memory>
#include <utility>

#include "daemon/analysis/operators/self_time.h"
#include "daemon/analysis/sql/keyed_rows.h"

namespace kprof {
namespace {

enum Column { kKey, kKey2, kKey3, kCount, kSum, kSelf };

constexpr FunctionColumn kColumns[] = {
    {.name = "key", .which = kKey},
    {.name = "key2", .which = kKey2},
    {.name = "key3", .which = kKey3},
    {.name = "count", .type = "INTEGER", .which = kCount},
    {.name = "sum_ns", .type = "INTEGER", .which = kSum},
    {.name = "self_ns", .type = "INTEGER", .which = kSelf},
};
constexpr const char* kArguments[] = {"by", "by2", "by3"};

class SelfTimes final : public FunctionAnswer {
 public:
  SelfTimes(TraceSet& set, std::vector<SliceField> keys) : groups_(set, std::move(keys)) {}

  void Add(GroupKey values, const SelfTime& time) {
    groups_.Add(std::move(values));
    times_.push_back({{}, time.count, time.sum_ns, time.self_ns});
  }

  size_t size() const override { return times_.size(); }
  int64_t size_bytes() const override {
    return groups_.size_bytes() + static_cast<int64_t>(times_.size() * sizeof(SelfTime));
  }
  bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const override {
    return groups_.Field(row, field, out);
  }
  void Result(size_t row, int which, sqlite3_context* out) const override {
    if (which <= kKey3) return groups_.Key(row, static_cast<size_t>(which), out);
    const SelfTime& time = times_[row];
    if (which != kCount && time.count == 0) return;
    sqlite3_result_int64(out, which == kCount ? time.count : which == kSum ? time.sum_ns : time.self_ns);
  }

 private:
  KeyedRows groups_;
  std::vector<SelfTime> times_;
};

Result<std::unique_ptr<FunctionAnswer>> Call(const FunctionCall& call) {
  ASSIGN_OR_RETURN(const KeyedQuestion question, MakeKeyedQuestion(call));
  SelfTimeRequest request;
  request.filter = call.slices.filter();
  request.by = question.by;
  request.most_groups = kMostGroupsOfCall;
  request.take_memory = call.set.terms().take_memory;
  MemoryCharge memory(request.take_memory);  // of the rows until they are an answer
  auto times = std::make_unique<SelfTimes>(call.set, question.keys);
  for (const ChosenParts& parts : question.asked) {
    ASSIGN_OR_RETURN(std::vector<SelfTime> found, FindSelfTimes(parts.parts, request, call.stop));
    for (SelfTime& time : found) {
      RETURN_IF_ERROR(memory.Grow(SizeOfKey(time.key) + static_cast<int64_t>(sizeof(SelfTime))));
      times->Add(ValuesOf(question, parts, std::move(time.key)), time);
    }
  }
  if (question.keys.empty() && times->size() == 0) times->Add({}, {});  // as SQL's sum of nothing
  return std::unique_ptr<FunctionAnswer>(std::move(times));
}

}  // namespace

TraceFunction SelfTimeBy() {
  return {"self_time", std::size(kArguments), ColumnsOf({}, kColumns, kArguments), Call, HasKeyField};
}

}  // namespace kprof
