// Takes out of a text what it says of an environment in settings (NAME=value): what printenv prints, one to a line;
// what /proc/PID/environ holds; a command line with settings before it. It is one where a variable is among them that
// tells so (environment_names.h): "M=16 N=32" are no variables, beside "HOME=/home/who" they are.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kprof {

// False: no text like this has such settings. Costs next to nothing; for what comes by the million.
bool MayHaveSettings(std::string_view text);

// The text without them. Nothing where none goes. All else stays byte by byte. Also those go that kept_environment.h
// lists: once the others are gone nothing tells that they are of an environment, and an export would have them.
std::optional<std::string> WithoutSettings(std::string_view text);

}  // namespace kprof
