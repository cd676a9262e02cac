// Lists of strings in one column: argv and environment, each entry followed by a zero byte.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

// REQUIRES: no entry has a zero byte, no name of a variable has a '='.
std::string Joined(const std::vector<std::string>& strings);
std::string JoinedEnvironment(const std::vector<std::pair<std::string, std::string>>& environment);

// The way back. Bytes that nobody joined give some list.
std::vector<std::string> Split(std::string_view bytes);
std::vector<std::pair<std::string, std::string>> SplitEnvironment(std::string_view bytes);

}  // namespace kprof
