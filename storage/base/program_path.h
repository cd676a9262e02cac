// Finds a program as execvp does, but in the PATH of an environment that is not ours.
#pragma once

#include <string>
#include <vector>

namespace kprof {

// Where there is no PATH, as in execvp.
constexpr char kStandardPath[] = "/bin:/usr/bin";

// The PATH of `environment`.
std::string PathIn(const std::vector<std::string>& environment);

// A name with a slash is a path already; any other is looked up in PATH, where an empty entry is the working directory.
// Returns 0 and the path, or the errno that execvp would give: ENOENT, or EACCES for one that may not be executed.
int FindProgram(const std::string& name, const std::vector<std::string>& environment, std::string& path);

}  // namespace kprof
