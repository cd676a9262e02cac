// The whole of kprofctl but for main().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/output.h"

namespace kprof::cli {

// Parses `args` (without the program's name), runs the verb and reports a failure. Returns the exit code of
// docs/cli.md. Single-threaded until it connects.
int RunKprofctl(const std::vector<std::string>& args, Output& output, int64_t reconnect_ms = 10'000);

}  // namespace kprof::cli
