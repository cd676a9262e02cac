// Finds the rank of each source of an import, and the name of its part. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// The rank in a file's name: the number behind "rank" or "worker" at the beginning of a word, 34 for "rank-34.json",
// "worker34.pt.trace.json"; else the number behind an "r" if both make a word, "r34.json", "trace-r34_1.json". The last
// such number counts. If the file's name has none its folder's name counts: "rank3/trace.json".
struct NamedRank {
  int64_t rank = 0;
  bool is_behind_r = false;  // it may be a size or a version as well
};
std::optional<NamedRank> RankInName(std::string_view name);

// The ranks in the names of all sources of an import. If two names have the same number behind an "r", no number behind
// an "r" is a rank.
std::vector<std::optional<int64_t>> RanksInNames(const std::vector<std::string_view>& names);

// The numbers of names that are alike but for one number (trace_2.json, trace_10.json; 0/trace.json, 1/trace.json), if
// each name has a different one. None for other names, for numbers as long as times and dates, and for ExecutionInName.
std::vector<std::optional<int64_t>> RanksInWhichNamesDiffer(const std::vector<std::string_view>& names);

// The number behind "exec" in a file's name: 4 for "profile_rank_1_exec_4.view.json". It tells executions of one rank
// apart.
std::optional<int64_t> ExecutionInName(std::string_view name);

struct SourceRank {
  std::string name;             // of the source
  std::optional<int64_t> rank;  // as it was asked for, or as the source itself says
  bool joins_trace = false;     // SourceFormat: it is a part of another source's rank
  bool leads = false;           // SourceFormat: where all of them join a trace, the others join this one
  bool is_table = false;        // SourceFormat: tables are parts of one rank, but for those that say another
  bool is_profile = false;      // SourceFormat: profiles of several executions are parts of one rank, as tables are
};
struct PartRank {
  std::string part;  // its name: "trace", "rank3", "rank3_2", "rank3_exec4"
  std::optional<int64_t> rank;
  std::string warning;    // empty: none
  const char* code = "";  // of the warning, in the run's trust
};
inline constexpr char kRankByOrder[] = "rank_by_order";  // nobody says the rank
inline constexpr char kRankTwice[] = "rank_twice";       // another source has the rank that it says

// One part for each source, in their order. One that joins a trace is a part of the rank that it says or that is in its
// name, `rank3_2`, else of the only other source's; of the first one's, with a warning, if there are several. Tables
// are parts of the rank that they say or that is in their names, else of none: `trace`, `trace_2`. So are profiles, but
// of several the number in which their names differ is a rank too; the execution in a name is in the part's, `exec4`.
// The rank of one of several is the known one, else the one in its name, else the number in which the names of the
// remaining ones differ, else the lowest free one. Sources that say one rank are parts of that rank, `rank3` and
// `rank3_2`, the later ones with a warning. Where sources are only numbered in the order of the files, the first of
// them has a warning.
std::vector<PartRank> RanksOf(const std::vector<SourceRank>& sources);

}  // namespace kprof
