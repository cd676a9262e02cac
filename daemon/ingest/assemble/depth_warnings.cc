#include "daemon/ingest/assemble/depth_warnings.h"

namespace kprof {

std::vector<std::string> DepthWarnings(const MadeDepths& made) {
  std::vector<std::string> warnings;
  if (made.crowded > 0) {
    warnings.push_back(std::to_string(made.crowded) +
                       " slices are in more others than are kept open at once: what is in them is drawn beside them");
  }
  if (made.without > 0) {
    warnings.push_back(
        std::to_string(made.without) +
        " slices have no depth, and are drawn in no overview: their track has too many in no order of time");
  }
  return warnings;
}

}  // namespace kprof
