// Which kprof-ingest reads sources on this machine: the one for newer processors (AVX2 and what came with it), where it
// is installed and this is one.
#pragma once

#include <string>

namespace kprof {

// `path` is that of the one for all processors, which has the other beside it.
std::string IngestProgramBeside(const std::string& path);

}  // namespace kprof
