// Answers that are sums by any keys: how they are asked for run by run or part by part, where that is a key, and what
// their operators' groups become.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "daemon/analysis/operators/row_groups.h"
#include "daemon/analysis/sql/keyed_rows.h"
#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

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
