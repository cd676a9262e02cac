// The answer of the analysis `samples` as one screen for people: the verdict, a line for each case and side, and how
// their samples are distributed. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "client/cli/views/received_analysis.h"
#include "client/cli/views/summary_screen.h"

namespace kprof::cli {

// REQUIRES: `answer` is whole.
std::string SamplesScreen(const ReceivedAnalysis& answer, const ScreenFit& fit);

// "FASTER  0.912 of the baseline's time (95 %: 0.905 to 0.919)". `reasons`: words, with commas between.
std::string VerdictLine(const std::string& verdict, std::optional<double> ratio, std::optional<double> low,
                        std::optional<double> high, const std::string& reasons, bool has_colours);

}  // namespace kprof::cli
