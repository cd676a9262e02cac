// The facts that a source tells of the job that it is of, as far as a look at it goes. An import of several sources is
// sorted into runs by them (import_groups.h). A hostile source says anything: facts decide which sources share a run,
// and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kprof {

struct SourceFacts {
  // A group of ranks that talk to each other.
  struct Group {
    std::string name;            // one name may stand for several groups, which share no rank
    std::string kind;            // all else that is said of it: the same for all of its ranks
    std::vector<int64_t> ranks;  // sorted
    bool operator==(const Group&) const = default;
  };
  std::optional<int64_t> rank;
  std::optional<int64_t> world_size;
  std::string job;                       // its id; empty, as those below: it is not said
  std::string backend;                   // "nccl"
  std::string library;                   // the version of the backend's library
  std::vector<Group> groups;             // some of them
  std::optional<int64_t> start_unix_ns;  // about where its events begin
  // The same, counted from a multiple of kQuarterNs, which the source tells further on: looks at it end before.
  std::optional<int64_t> start_of_quarter_ns;
  bool joins_trace = false;  // it belongs to the trace of its rank, where there is one (SourceFormat)
  bool is_table = false;     // it is a trace together with the other tables in its folder (SourceFormat)

  // False: it says nothing of a job, so that its name alone tells its rank.
  bool says_job() const { return rank || world_size || !job.empty() || !groups.empty(); }
  bool operator==(const SourceFacts&) const = default;
};

// Kineto counts its times from a multiple of this, a quarter of a year.
constexpr int64_t kQuarterNs = int64_t{7'889'238} * 1'000'000'000;

constexpr int64_t kLatestStartUnixNs = 4'102'444'800'000'000'000;  // 2100

// Limits of what a look keeps of one source.
constexpr size_t kMostFactGroups = 128;
constexpr size_t kMostFactRanks = 8192;     // in all its groups
constexpr size_t kMostFactTextBytes = 256;  // of one text

}  // namespace kprof
