// Unsigned integers in no more bits than they need: blocks of 128, the last one of what is left, each a byte with its
// width in bits (0 to 64) and then its values, the first in the lowest bits, up to a whole byte.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kprof {

constexpr size_t kPackedBlock = 128;

// How many bytes AppendPacked would append.
size_t PackedBytes(std::span<const uint64_t> values);

void AppendPacked(std::span<const uint64_t> values, std::string& out);

// Reads out.size() values from the front of `bytes` and takes what it read off it. False, with nothing taken, where
// that is not what the bytes are.
bool TakePacked(std::string_view& bytes, std::span<uint64_t> out);

}  // namespace kprof
