// What to do about a catalog that is damaged or gone.
#pragma once

#include <string>

namespace kprof {

// Names the state folder: without it, kprofd would replace the catalog of another one, its default.
std::string RestoreRemedy(const std::string& state_folder);

}  // namespace kprof
