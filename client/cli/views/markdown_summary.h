// A verdict in Markdown, for the summary of a CI job's step ($GITHUB_STEP_SUMMARY) or a comment on a change: first one
// line that says it all, then a short table, then what speaks against believing it. Pure functions.
#pragma once

#include <string>

#include "client/cli/views/received_analysis.h"
#include "kprof/v1/run.pb.h"

namespace kprof::cli {

// The run as it ended; with its verdict, where it has one.
std::string MarkdownOf(const v1::Run& run);

// The answer of the analysis `compare`: verdict, totals, and the kernels that changed most.
// REQUIRES: `answer` is whole.
std::string MarkdownOf(const ReceivedAnalysis& answer);

}  // namespace kprof::cli
