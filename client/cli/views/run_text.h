// A run in words for people, as JSON for programs, and as an exit code. Pure functions; the reports are safe for a
// terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/cli/text/json_writer.h"
#include "client/cli/text/text_style.h"
#include "client/cli/waiting/queue_place.h"
#include "kprof/v1/run.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

// "queued", ...; "state-9" for a state of a newer daemon.
std::string RunStateName(v1::RunState state);
std::optional<v1::RunState> RunStateByName(std::string_view name);

// A failed run is trouble, a cancelled one a warning.
TextStyle StyleOf(v1::RunState state);

// OK for a run that is done or not over yet; else its error, with the code that gives kprofctl's exit code.
Status OutcomeOf(const v1::Run& run);

// The error's message without "run ID: " in front, for texts that have named the run already. Not made safe.
std::string ErrorMessage(const v1::Run& run);

// "exit 3", "signal 9 (SIGKILL)", or "" while neither is known.
std::string ExitText(const v1::Run& run);

// The run's measured time, where it has one: the wall clock may have been set meanwhile. Else the time from its start
// to its end, or to `now_ns`; for a run that never started, from the moment it was queued.
int64_t DurationNs(const v1::Run& run, int64_t now_ns);

// Writes a run as the object kprof.run.v1 of docs/cli.md. `place` null: without its place in the queue.
void WriteRun(JsonWriter& json, const v1::Run& run, const QueuePlace* place = nullptr);

// The same on a line of its own.
std::string RunJsonLine(const v1::Run& run, const QueuePlace* place = nullptr);

// True where a report tells more than the run itself: it is done, and its trace has slices or numbers of kernels.
bool HasReport(const v1::Run& run);

// After a capture: the id, how it ended, what it cost, what to look at next. Of a failure the code alone: OutcomeOf
// tells the rest, and is printed after it.
std::string ShortReport(const v1::Run& run, bool has_colours = false);

// All facts of the run, for `show`.
std::string FullReport(const v1::Run& run, const QueuePlace& place, int64_t now_ns, bool has_colours = false);

// "run 01jd done after 1.234 s (exit 0)".
std::string OneLineReport(const v1::Run& run, int64_t now_ns, bool has_colours = false);

// The command as typed, safe to show.
std::string CommandOf(const v1::Run& run);

// "0,1", or "none"; safe to show.
std::string DevicesOf(const v1::Run& run);

}  // namespace kprof::cli
