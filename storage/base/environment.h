// Environments as a child gets them: a list of "NAME=value".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// The value of `name`; of several the first counts, as for getenv. Null when absent. Valid until the list changes.
const char* FindVariable(const std::vector<std::string>& environment, std::string_view name);

// Adds "NAME=value" in place of all of that name.
void SetVariable(std::vector<std::string>& environment, const std::string& assignment);

}  // namespace kprof
