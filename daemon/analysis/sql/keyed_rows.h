// Rows of an answer that are each of a group: what is the same for all slices of it, field by field. Of a track's group
// all is known that its track says.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/analysis/operators/row_groups.h"
#include "daemon/analysis/sql/slice_field.h"
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

}  // namespace kprof
