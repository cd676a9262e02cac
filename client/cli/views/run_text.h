// A run in words, for people. Pure functions; everything from outside is made safe for a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/cli/text/json_writer.h"
#include "client/cli/waiting/queue_place.h"
#include "kprof/v1/run.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

// What a run's state and end mean to people, scripts and the exit code. Pure functions.

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

// A run as the object kprof.run.v1 of docs/cli.md.

// Without its place in the queue where that is null.
void WriteRun(JsonWriter& json, const v1::Run& run, const QueuePlace* place = nullptr);

// The same on a line of its own.
std::string RunJsonLine(const v1::Run& run, const QueuePlace* place = nullptr);

// After a capture: the id, how it ended, what it cost, what to look at next.
std::string ShortReport(const v1::Run& run);

// Everything that is known (`show`).
std::string FullReport(const v1::Run& run, const QueuePlace& place, int64_t now_ns);

// "run 01jd done after 1.234 s (exit 0)".
std::string OneLineReport(const v1::Run& run, int64_t now_ns);

// The command as typed, safe to show.
std::string CommandOf(const v1::Run& run);

// "0,1", or "none"; safe to show.
std::string DevicesOf(const v1::Run& run);

}  // namespace kprof::cli
