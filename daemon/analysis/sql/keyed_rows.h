// Answers with a row for each group of slices: their keys, how the keys are read from a call, and how they become the
// fields of rows. A row whose key is a track has all fields of that track.
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

// Reads the keys of a call: texts, none of them twice. `all` are the possible ones.
// Fails with "sum_by: there is no key \"nme\"; keys are name, category, ...".
Result<std::vector<SliceField>> ReadKeys(const char* function, FunctionArguments arguments,
                                         std::span<const SliceField> all);
// True if rows with those keys have that field.
bool HasKeyField(FunctionArguments arguments, SliceField field);

void ResultGroupValue(const GroupValue& value, sqlite3_context* out);
// Gives a field of a track, or of its part. False: it is no field of tracks.
bool ResultOfTrack(const OpenPart& part, uint32_t track, SliceField field, sqlite3_context* out);

// Rows of an answer, each with its group's values.
class KeyedRows {
 public:
  // Rows have a value for each of `fields`. The set must outlive it.
  KeyedRows(TraceSet& set, std::vector<SliceField> fields) : set_(set), fields_(std::move(fields)) {}

  void Add(GroupKey values);
  size_t size() const { return rows_.size(); }
  int64_t size_bytes() const { return size_bytes_; }
  // Gives nothing if there is no such key.
  void Key(size_t row, size_t at, sqlite3_context* out) const;
  bool Field(size_t row, SliceField field, sqlite3_context* out) const;

 private:
  TraceSet& set_;
  const std::vector<SliceField> fields_;
  std::vector<GroupKey> rows_;
  int64_t size_bytes_ = 0;
};

// The key of a function about busy times. Its groups are never of several parts, as clocks of two parts differ.
struct BusyKey {
  BusyBy by = BusyBy::kTrack;
  std::vector<SliceField> fields;  // of the rows; the key is the first
};

// `argument`: the number of the argument that is the key; if it is not given, the key is `by_default`.
Result<BusyKey> ReadBusyKey(const FunctionCall& call, size_t argument, SliceField by_default);
// The values of a group, in the order of `fields`.
GroupKey ValuesOf(const BusyKey& key, const OpenPart& part, const BusyGroup& group);
// True if rows by that key have that field.
bool HasBusyField(FunctionArguments arguments, size_t argument, SliceField by_default, SliceField field);

constexpr size_t kMostKeys = 3;
// In each part, and in all: with long names, so many groups take all the memory that a query may have.
constexpr size_t kMostGroupsOfCall = 1 << 18;

// The possible keys of a KeyedQuestion: those of GroupBy, and run and part.
std::span<const SliceField> GroupFields();

// A question for sums by up to kMostKeys keys. Operators have no keys run and part: so for these it is asked run by
// run, or part by part.
struct KeyedQuestion {
  std::vector<SliceField> keys;
  std::vector<GroupBy> by;         // those of `keys` that the operator has
  std::vector<ChosenParts> asked;  // one after the other
};
Result<KeyedQuestion> MakeKeyedQuestion(const FunctionCall& call);

// The values of all keys. `of`: the parts that were asked; `group`: the operator's values, for `by`.
GroupKey ValuesOf(const KeyedQuestion& question, const ChosenParts& of, GroupKey group);

}  // namespace kprof
