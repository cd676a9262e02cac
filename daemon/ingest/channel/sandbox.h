// The sandbox of the process that takes a hostile file apart. The process can still compute, have threads, have memory
// up to a limit, and read and write its open descriptors. It cannot open files, start programs or open connections.
#pragma once

#include <cstdint>

#include "storage/base/status.h"

namespace kprof {

// Enters it for good, for all threads to come: call it before there are any. `memory_bytes`: of address space, beside
// the present use. `cpu_seconds`: of all threads together, from the start of the process; then SIGXCPU ends it.
Status EnterSandbox(int64_t memory_bytes, int64_t cpu_seconds);

}  // namespace kprof
