// What is said of slices whose depths are not what they should be, for people: whether the reader of their source
// nested them, or who writes the part.
#pragma once

#include <string>
#include <vector>

#include "storage/trace/levels/slice_pass.h"

namespace kprof {

// A sentence for each kind that there is.
std::vector<std::string> DepthWarnings(const MadeDepths& made);

}  // namespace kprof
