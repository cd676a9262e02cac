// Packs unsigned integers into no more bits than they need. They are in blocks of 128 values, fewer in the last one. A
// block is a byte with the width in bits (0 to 64), then the values, the first in the lowest bits, filled up to a whole
// byte.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kprof {

constexpr size_t kPackedBlock = 128;

// The number of bytes that AppendPacked would append.
size_t PackedBytes(std::span<const uint64_t> values);

void AppendPacked(std::span<const uint64_t> values, std::string& out);

// Takes out.size() values off the front of `bytes`. False, with nothing taken, when the bytes are no such blocks.
bool TakePacked(std::string_view& bytes, std::span<uint64_t> out);

}  // namespace kprof
