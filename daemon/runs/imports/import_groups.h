// Sorts the sources of an import into runs: the files of one job are one run with its ranks, files of other jobs are
// runs of their own. docs/adr/017 says how that is decided, and what decides it. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ingest/source/source_facts.h"

namespace kprof {

// Events of one run are no farther apart than this, where nothing else says that they are of one job: minutes may pass
// between the profiles of ranks that are taken one after the other.
constexpr int64_t kNearNs = int64_t{600} * 1'000'000'000;

struct GroupedSource {
  std::string name;             // with the folders that tell it from the others
  std::optional<int64_t> rank;  // as it was asked for
  bool no_trace = false;        // it is left out of whatever run it is of
  SourceFacts facts;
  std::optional<size_t> copy_of;  // an earlier source has the same bytes
};

struct SourceGroup {
  struct Member {
    size_t source = 0;  // its number
    // The rank in its name, by which it joined this job: it says nothing of a job itself.
    std::optional<int64_t> joined_as;
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> members;  // in the order of the sources
};

// One group for each run, in the order of their first sources; each source is in one of them. Takes a second at most
// for 1,024 sources.
std::vector<SourceGroup> GroupSources(const std::vector<GroupedSource>& sources);

}  // namespace kprof
