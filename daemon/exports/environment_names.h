// What never leaves with an export: the environment of who was profiled, under whatever name a source has it. Imports
// keep of it what is allowed (variables of profilers and runtimes); it is not for other people's eyes.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

// A fact, a member or an argument of that name is left out. Upper and lower case are the same here, and so are words
// together, with - and with _ between them.
bool IsEnvironmentName(std::string_view name);

// A list or an object without the members of such names, at whatever depth. All else stays byte by byte.
std::string WithoutEnvironment(std::string_view json);

}  // namespace kprof
