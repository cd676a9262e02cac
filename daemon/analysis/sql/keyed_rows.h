// Rows of an answer that are each of a group: what is the same for all slices of it, field by field. Of a track's group
// all is known that its track says.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/operators/busy_time.h"
#include "daemon/analysis/operators/row_groups.h"
#include "daemon/analysis/sql/slice_choice.h"
#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

// Keys as a call has them: texts, none of them twice. `all` are those that it may have.
// Fails with "sum_by: there is no key \"nme\"; keys are name, category, ...".
Result<std::vector<SliceField>> ReadKeys(const char* function, FunctionArguments arguments,
                                         std::span<const SliceField> all);
// Of those that are keys.
bool HasKeyField(FunctionArguments arguments, SliceField field);

void ResultGroupValue(const GroupValue& value, sqlite3_context* out);
// What a track says, or its part. False: it is no field of tracks.
bool ResultOfTrack(const OpenPart& part, uint32_t track, SliceField field, sqlite3_context* out);

class KeyedRows {
 public:
  // Of `fields` rows have a value each. The set must outlive it.
  KeyedRows(TraceSet& set, std::vector<SliceField> fields) : set_(set), fields_(std::move(fields)) {}

  void Add(GroupKey values);
  size_t size() const { return rows_.size(); }
  int64_t size_bytes() const { return size_bytes_; }
  // Nothing where there is no such key.
  void Key(size_t row, size_t at, sqlite3_context* out) const;
  bool Field(size_t row, SliceField field, sqlite3_context* out) const;

 private:
  TraceSet& set_;
  const std::vector<SliceField> fields_;
  std::vector<GroupKey> rows_;
  int64_t size_bytes_ = 0;
};

// The keys of functions about what was going on when: they are of each part by itself, as clocks of two parts differ.
struct BusyKey {
  BusyBy by = BusyBy::kTrack;
  std::vector<SliceField> fields;  // of the rows; the key is the first
};

// `argument`: which one is the key; where it is not given, `by_default`.
Result<BusyKey> ReadBusyKey(const FunctionCall& call, size_t argument, SliceField by_default);
// In the order of `fields`.
GroupKey ValuesOf(const BusyKey& key, const OpenPart& part, const BusyGroup& group);
// Whether rows by that key have that field.
bool HasBusyField(FunctionArguments arguments, size_t argument, SliceField by_default, SliceField field);

// Answers that are sums by any keys: how they are asked for run by run or part by part, where that is a key, and what
// their operators' groups become.
constexpr size_t kMostKeys = 3;
// In each part, and in all: of a long name each they are what a query may have of memory.
constexpr size_t kMostGroupsOfCall = 1 << 18;

// Those of GroupBy, and run and part.
std::span<const SliceField> GroupFields();

struct KeyedQuestion {
  std::vector<SliceField> keys;
  std::vector<GroupBy> by;         // of them, those that the operator has
  std::vector<ChosenParts> asked;  // one after the other
};
Result<KeyedQuestion> MakeKeyedQuestion(const FunctionCall& call);

// The values of all keys: `group` has those of `by`, `of` is what was asked.
GroupKey ValuesOf(const KeyedQuestion& question, const ChosenParts& of, GroupKey group);

}  // namespace kprof
