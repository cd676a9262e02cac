// Which rank each source of an import is, and what its part is called. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// The number behind "rank", "worker" or a single "r" in a file's name, at the beginning of a word: 34 for
// "rank-34.json", "worker34.pt.trace.json", "r34". The last one counts. Of "rank3/trace.json", where the name has none,
// it is its folder's.
std::optional<int64_t> RankInName(std::string_view name);

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
// says, then the lowest that is left. One that says another one's rank gets the lowest that is left, with a warning.
std::vector<PartRank> RanksOf(const std::vector<SourceRank>& sources);

}  // namespace kprof
