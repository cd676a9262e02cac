// The answer of the analysis `summary` as one screen for people. Knows facts and columns by their names; what another
// version of the daemon does not have is left out. Pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "client/cli/views/received_analysis.h"

namespace kprof::cli {

struct ScreenFit {
  size_t width = 0;  // of a line; 0: there is no terminal, and nothing is cut
  bool has_colours = false;
};

// At most about 30 lines of 80 columns. REQUIRES: `answer` is whole.
std::string SummaryScreen(const ReceivedAnalysis& answer, const ScreenFit& fit);

}  // namespace kprof::cli
