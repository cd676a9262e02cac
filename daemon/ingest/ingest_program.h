// Which kprof-ingest reads sources on this machine: the one for newer processors (AVX2 and what came with it), where it
// is installed and this is one.
#pragma once

#include <string>

namespace kprof {

// `folder` has it, beside kprofd or where an installation puts what is not for people.
std::string IngestProgramIn(const std::string& folder);

}  // namespace kprof
