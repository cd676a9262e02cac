// A run in words, for people. Pure functions; everything from outside is made safe for a terminal.
#pragma once

#include <string>

#include "client/cli/waiting/queue_place.h"
#include "kprof/v1/run.pb.h"

namespace kprof::cli {

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
