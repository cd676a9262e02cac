// Environments as a child gets them, a list of "NAME=value": reads and sets variables, and finds programs in PATH.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// The PATH where there is none, as in execvp.
constexpr char kStandardPath[] = "/bin:/usr/bin";

// The PATH of `environment`, kStandardPath when it has none.
std::string PathIn(const std::vector<std::string>& environment);

// Finds a program as execvp does, but in the PATH of `environment`. A name with a slash is a path already; any other is
// looked up in PATH, where an empty entry is the working directory. Returns 0 and the path, or the errno that execvp
// would give: ENOENT, or EACCES for one that may not be executed.
int FindProgram(const std::string& name, const std::vector<std::string>& environment, std::string& path);

// The value of `name`; of several the first counts, as for getenv. Null when absent. Valid until the list changes.
const char* FindVariable(const std::vector<std::string>& environment, std::string_view name);

// Adds "NAME=value" and removes all other entries of that name.
void SetVariable(std::vector<std::string>& environment, const std::string& assignment);

}  // namespace kprof
