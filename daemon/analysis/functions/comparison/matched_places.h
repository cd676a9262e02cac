// The call trees of both sides of a comparison, laid over each other: each place that both have, with what changed
// there.
//
// Pure; any thread. Costs a look at each node; memory for the places with time, and their paths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/analysis/functions/comparison/call_places.h"
#include "daemon/analysis/functions/comparison/compared_sides.h"
#include "daemon/analysis/functions/comparison/side_facts.h"

namespace kprof {

// The calls that one side alone has below a node that both have.
struct LoneCalls {
  std::string name;
  SideSum sum;
};

// A place in the call tree that both sides have, and where their times differ: its own work, and that of calls below
// it that one side alone has.
struct MatchedPlace {
  std::string name;  // empty: the root, outside of all
  std::string path;  // "step / model / aten::mm"; a long one is cut at its begin
  OfSides<SideSum> sums;
  OfSides<int64_t> calls{};
  OfSides<std::vector<LoneCalls>> lone;

  int64_t delta_ns() const { return sums[kAfter].ns - sums[kBefore].ns; }
};

struct PlaceMatching {
  OfSides<int64_t> runs{};      // sums are of one
  OfSides<SideSum> unlaunched;  // work that no node of the host launched: it stands at the root
  bool by_host = false;         // by the host's own time, where neither side has device time
};

// Places with time on a side, the largest change first. A call around others that one side alone has (a compiled
// module, an engine of a newer version) hides nothing: what is in it stands in its place. `texts`: of both trees.
std::vector<MatchedPlace> MatchPlaces(const OfSides<const CallPlaces*>& sides, const TextNumbers& texts,
                                      const PlaceMatching& matching);

}  // namespace kprof
