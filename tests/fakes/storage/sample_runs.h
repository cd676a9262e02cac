// Runs for tests: plain ones, and ones with anything that a RunRow can hold.
#pragma once

#include <random>
#include <string>

#include "storage/catalog/run_row.h"

namespace kprof {

// A queued run of uid 1000 with little in it.
RunRow SampleRun(const std::string& id);

// The same one, ended well at `ended_ns`, with one artifact of that size.
RunRow EndedRun(const std::string& id, int64_t ended_ns, int64_t artifact_bytes);

// Every field may be anything, odd bytes included; no NaN, so that rows compare.
RunRow RandomRun(std::mt19937_64& random, const std::string& id);

}  // namespace kprof
