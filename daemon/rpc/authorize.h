// Who may do what to which run: the one place where that is decided. A function of its arguments. Any thread.
#pragma once

#include <string>

#include "daemon/rpc/caller.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

enum class RunAction { kSee, kChange };

// A run that may not even be seen is kNotFound: its existence is nobody's business. One that may be seen but not
// changed is kNotPermitted. `act` is what the message says: "cancel run 01j...".
Status AuthorizeRun(const Caller& caller, RunAction action, const RunRow& run, const std::string& act);

}  // namespace kprof
