// The first look at a run's trace when nothing was asked: the screen of the analysis `summary`, at the end of an import
// and of a capture in the foreground.
//
// One thread. Asks the daemon; a failure is a note, and never one of the verb.
#pragma once

#include <string>

#include "client/cli/verbs/verbs.h"
#include "client/cli/views/summary_screen.h"
#include "kprof/v1/run.pb.h"

namespace kprof::cli {

// The screen, a blank line before it. Empty: the run is not done, or its trace has no slices, or the analysis failed,
// which a note says.
std::string SummaryOfRun(const v1::Run& run, const ScreenFit& fit, const VerbContext& context);

}  // namespace kprof::cli
