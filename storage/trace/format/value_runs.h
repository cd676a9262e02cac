// Values that seldom change, as runs: the number of runs; the length less one of each, packed; the least value; the
// value of each run less the least, packed. Numbers that are not packed are as in codec_numbers.h.
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

// Decodes all of `bytes` into all of `out`; false when the bytes are no such runs.
bool DecodeRuns(std::string_view bytes, std::span<int64_t> out);

}  // namespace kprof
