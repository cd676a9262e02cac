// Whether a text tells of an environment in settings (NAME=value): what printenv, export -p or env -0 print, a command
// line with settings before it, what a shell traces. It does where one of those is a variable that any process has, or
// a secret (TellsOfEnvironment): "M=16 N=32" tells nothing, "M=16 HOME=/home/who" does.
//
// Where a value ends, which quotes are its, and what else in such a text is of somebody, depends on who wrote it: so
// nothing of one is kept that does.
//
// Pure; any thread.
#pragma once

#include <string_view>

namespace kprof {

// False: no text like this does, also where it has escapes of JSON. Costs next to nothing; for what comes by the
// million.
bool MayHaveSettings(std::string_view text);

bool SetsVariables(std::string_view text);

}  // namespace kprof
