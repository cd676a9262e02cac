// JSON made of what is not JSON.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

// With its quotes. Bytes that are no UTF-8 stay as they are.
void AppendJsonString(std::string& json, std::string_view text);

// The shortest text that is this double again. REQUIRES: it is finite.
std::string ShortestNumber(double value);

}  // namespace kprof
