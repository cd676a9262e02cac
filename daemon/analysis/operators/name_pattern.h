// A name with wildcards: `*` is any run of characters, `?` is one, all else is itself. Case counts. A name without
// wildcards is found by its number and needs none of this.
//
// Pure; any thread. The time is at most the product of both lengths.
#pragma once

#include <string_view>

namespace kprof {

bool HasWildcards(std::string_view pattern);
// `?` takes a whole character of UTF-8; of what is no UTF-8, a byte.
bool MatchesPattern(std::string_view pattern, std::string_view name);

}  // namespace kprof
