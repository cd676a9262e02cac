// Environments as a child gets them: a list of "NAME=value".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// Names the run that a process belongs to, in the environment of every process of a run.
inline constexpr char kRunIdVariable[] = "KPROF_RUN_ID";
// And the state folder that the run belongs to (runs/state_marker.h).
inline constexpr char kStateVariable[] = "KPROF_STATE";

// The value of `name`; of several the first counts, as for getenv. Null when absent. Valid until the list changes.
const char* FindVariable(const std::vector<std::string>& environment, std::string_view name);

// Adds "NAME=value" in place of all of that name.
void SetVariable(std::vector<std::string>& environment, const std::string& assignment);

}  // namespace kprof
