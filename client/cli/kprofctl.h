// The whole of kprofctl but for main().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/output.h"

namespace kprof::cli {

// Parses, does what is asked, reports a failure; answers with the exit code of docs/cli.md. `args` without the
// program's name. Single-threaded until it connects.
int RunKprofctl(const std::vector<std::string>& args, Output& output, int64_t reconnect_ms = 10'000);

}  // namespace kprof::cli
