// Which part of a command's environment is kept with its run: names that explain a measurement, and never a secret.
// The command itself gets all of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

bool IsStoredVariable(std::string_view name);

// The allow-listed ones of "NAME=value", by name; values over 4 KiB are cut there.
std::vector<std::pair<std::string, std::string>> StoredEnvironment(const std::vector<std::string>& environment);

}  // namespace kprof
