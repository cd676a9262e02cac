// Values that seldom change, as runs: how many there are (a number); the length less one of each, packed; the least
// value (a number); their values less that, packed.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kprof {

// `min`: the least of them.
std::string EncodeRuns(std::span<const int64_t> values, int64_t min);

// All of `bytes` into all of `out`; false where that is not what they are.
bool DecodeRuns(std::string_view bytes, std::span<int64_t> out);

}  // namespace kprof
