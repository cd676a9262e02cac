// How much of what a command leaves is kept (run_outputs.h).
#pragma once

#include <cstdint>

namespace kprof {

struct OutputsPolicy {
  int64_t files = 1000;                        // of a run
  int64_t bytes = int64_t{64} << 30;           // of all files of a run
  int64_t kept_free_bytes = int64_t{1} << 30;  // of the disk, that they leave to everybody else
};

}  // namespace kprof
