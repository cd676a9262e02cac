// The name that somebody meant who typed another: a slip of a letter or two, or the beginning of one. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof::cli {

// Nothing where none of the names is near.
std::optional<std::string> NearestName(std::string_view typed, const std::vector<std::string>& names);

// "did you mean 'show'? " in front of `remedy`, where a name is near; else `remedy` alone.
std::string WithSuggestion(std::string_view typed, const std::vector<std::string>& names, const std::string& remedy);

}  // namespace kprof::cli
