#include "storage/trace/format/bit_packing.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "storage/base/newer_processors.h"

namespace kprof {
namespace {

// Bytes of a block of that width, and some in which a load of eight bytes at the last value ends.
constexpr size_t kMostBlockBytes = kPackedBlock * 8;
constexpr size_t kSlackBytes = 16;

int WidthOf(std::span<const uint64_t> block) {
  uint64_t all = 0;
  for (const uint64_t value : block) all |= value;
  return static_cast<int>(std::bit_width(all));
}

size_t BlockBytes(size_t values, int width) {
  return (values * static_cast<size_t>(width) + 7) / 8;
}

uint64_t Load(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

void Pack(std::span<const uint64_t> block, int width, char* to) {
  uint64_t word = 0;
  int filled = 0;
  for (const uint64_t value : block) {
    word |= value << filled;
    filled += width;
    if (filled < 64) continue;
    std::memcpy(to, &word, 8);
    to += 8;
    filled -= 64;
    word = filled == 0 ? 0 : value >> (width - filled);
  }
  std::memcpy(to, &word, static_cast<size_t>(filled + 7) / 8);
}

// REQUIRES: kSlackBytes can be read behind the block.
void Unpack(const char* from, int width, std::span<uint64_t> out) {
  if (width == 0) return std::fill(out.begin(), out.end(), 0);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  size_t bit = 0;
  if (width <= 56) {
    for (uint64_t& value : out) {
      value = (Load(from + bit / 8) >> (bit % 8)) & mask;
      bit += static_cast<size_t>(width);
    }
    return;
  }
  for (uint64_t& value : out) {
    const size_t shift = bit % 8;
    uint64_t word = Load(from + bit / 8) >> shift;
    if (shift > 0) word |= static_cast<uint64_t>(static_cast<uint8_t>(from[bit / 8 + 8])) << (64 - shift);
    value = word & mask;
    bit += static_cast<size_t>(width);
  }
}

template <typename OnBlock>
void ForEachBlock(std::span<const uint64_t> values, const OnBlock& on_block) {
  for (size_t at = 0; at < values.size(); at += kPackedBlock) {
    on_block(values.subspan(at, std::min(kPackedBlock, values.size() - at)));
  }
}

}  // namespace

KPROF_FOR_NEWER_PROCESSORS size_t PackedBytes(std::span<const uint64_t> values) {
  size_t bytes = 0;
  ForEachBlock(values, [&](std::span<const uint64_t> block) { bytes += 1 + BlockBytes(block.size(), WidthOf(block)); });
  return bytes;
}

KPROF_FOR_NEWER_PROCESSORS void AppendPacked(std::span<const uint64_t> values, std::string& out) {
  ForEachBlock(values, [&](std::span<const uint64_t> block) {
    const int width = WidthOf(block);
    out.push_back(static_cast<char>(width));
    const size_t at = out.size();
    out.resize(at + BlockBytes(block.size(), width));
    if (width > 0) Pack(block, width, out.data() + at);
  });
}

KPROF_FOR_NEWER_PROCESSORS bool TakePacked(std::string_view& bytes, std::span<uint64_t> out) {
  std::string_view left = bytes;
  char tail[kMostBlockBytes + kSlackBytes];
  for (size_t at = 0; at < out.size(); at += kPackedBlock) {
    if (left.empty()) return false;
    const std::span<uint64_t> values = out.subspan(at, std::min(kPackedBlock, out.size() - at));
    const int width = static_cast<uint8_t>(left[0]);
    const size_t size = BlockBytes(values.size(), width);
    if (width > 64 || left.size() - 1 < size) return false;
    const char* block = left.data() + 1;
    if (left.size() - 1 < size + kSlackBytes) {  // the end is near
      std::memcpy(tail, block, size);
      std::memset(tail + size, 0, kSlackBytes);
      block = tail;
    }
    Unpack(block, width, values);
    left.remove_prefix(1 + size);
  }
  bytes = left;
  return true;
}

}  // namespace kprof
