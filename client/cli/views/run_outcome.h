// What a run's state and end mean to people, scripts and the exit code. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kprof/v1/run.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

// "queued", ...; "state-9" for one that a newer daemon has.
std::string RunStateName(v1::RunState state);
std::optional<v1::RunState> RunStateByName(std::string_view name);

// OK for a run that is done or not over yet; else its error, with the code that gives kprofctl's exit code.
Status OutcomeOf(const v1::Run& run);

// The error's message without the run's own name in front, for where that has been said.
std::string ErrorMessage(const v1::Run& run);

// "exit 3", "signal 9 (SIGKILL)", or "" while neither is known.
std::string ExitText(const v1::Run& run);

// From the start, or from the queue for a run that never started, to the end or `now_ns`; of one whose time was
// measured, that: the clock on the wall may have been set meanwhile.
int64_t DurationNs(const v1::Run& run, int64_t now_ns);

}  // namespace kprof::cli
