// A command line as people read it. Plain words stay, others are quoted so that a shell takes them as they were; bytes
// that are not UTF-8 and control characters come out as $'\xNN'.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

// From the catalog's form: each argument, then a zero byte.
std::string CommandText(std::string_view zero_ended_arguments);

}  // namespace kprof
