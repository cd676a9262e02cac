// What is left to the process that takes a hostile file apart: to compute, to have memory up to a limit and threads,
// and to read and write the descriptors that it has. No file can be opened, nothing started, nobody spoken to.
#pragma once

#include <cstdint>

#include "storage/base/status.h"

namespace kprof {

// For good, for all threads to come. Before there are any. `memory_bytes` of address space beside what is taken by now;
// `cpu_seconds` of all threads together, from the start of the process: then SIGXCPU ends it.
Status EnterSandbox(int64_t memory_bytes, int64_t cpu_seconds);

}  // namespace kprof
