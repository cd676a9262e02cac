// Which rank each source of an import is, and what its part is called. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// The number behind "rank" or "worker" in a file's name, at the beginning of a word: 34 for "rank-34.json",
// "worker34.pt.trace.json"; else that behind an "r" with which it is a word of its own: "r34.json", "trace-r34_1.json".
// The last one counts. Of "rank3/trace.json", where the name has none, it is its folder's.
struct NamedRank {
  int64_t rank = 0;
  bool is_behind_r = false;  // which may be a size or a version as well
};
std::optional<NamedRank> RankInName(std::string_view name);

// Of all sources of an import. Where the same number stands behind the "r" of two of them, that is no rank in any.
std::vector<std::optional<int64_t>> RanksInNames(const std::vector<std::string_view>& names);

// Where names are alike but for one number (trace_2.json, trace_10.json; 0/trace.json, 1/trace.json): that number, each
// a different one. Of others, and of numbers as long as times and dates, none.
std::vector<std::optional<int64_t>> RanksInWhichNamesDiffer(const std::vector<std::string_view>& names);

struct SourceRank {
  std::string name;             // of the source
  std::optional<int64_t> rank;  // as it was asked for, or as the source itself says
};
struct PartRank {
  std::string part;  // its name: "trace", "rank3"
  std::optional<int64_t> rank;
  std::string warning;  // empty: none
};
// One for each source, in their order; of several, each has a rank of its own: what is known, then what the file's name
// says, then of the others the number in which their names differ, then the lowest that is left. One that says another
// one's rank gets the lowest that is left, with a warning; and of those whose rank is but their place in the order of
// the files the first has one.
std::vector<PartRank> RanksOf(const std::vector<SourceRank>& sources);

}  // namespace kprof
