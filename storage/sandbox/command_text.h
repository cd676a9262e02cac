// A command line as people read it.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

// From the catalog's form: each argument, then a zero byte.
std::string CommandText(std::string_view zero_ended_arguments);

}  // namespace kprof
