#include "daemon/ingest/parquet/page_values.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kprof {
namespace {

constexpr uint64_t kMostMiniblocks = 512;
constexpr uint64_t kMostBlockValues = 1 << 16;

// A number of 7-bit groups, the lowest first.
bool TakeVarint(std::span<const char> bytes, size_t& at, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at >= bytes.size()) return false;
    const auto byte = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool TakeSigned(std::span<const char> bytes, size_t& at, uint64_t& value) {
  if (!TakeVarint(bytes, at, value)) return false;
  value = (value >> 1) ^ (~(value & 1) + 1);
  return true;
}

// `bits` bits from bit `bit_at` on; what stands behind the bytes is 0.
uint64_t BitsAt(std::span<const char> bytes, uint64_t bit_at, int bits) {
  if (bits == 0) return 0;
  const size_t byte = bit_at / 8;
  const int shift = static_cast<int>(bit_at % 8);
  uint64_t low = 0;
  const size_t have = bytes.size() - std::min(byte, bytes.size());
  if (have >= sizeof(low)) {
    std::memcpy(&low, bytes.data() + byte, sizeof(low));
  } else if (have > 0) {
    std::memcpy(&low, bytes.data() + byte, have);
  }
  uint64_t value = low >> shift;
  if (shift + bits > 64 && have > sizeof(low)) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[byte + sizeof(low)])) << (64 - shift);
  }
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

}  // namespace

int BitsFor(uint32_t most) {
  return std::bit_width(most);
}

bool RunDecoder::StartRun() {
  uint64_t head = 0;
  if (!TakeVarint(bytes_, at_, head)) return false;
  is_packed_ = (head & 1) != 0;
  if (is_packed_) {
    const uint64_t groups = head >> 1;
    if (groups == 0 || groups > (uint64_t{1} << 32)) return false;
    left_ = groups * 8;
    bit_at_ = 0;
    const uint64_t run_bytes = groups * static_cast<uint64_t>(bits_);
    // Some writers cut the last group off.
    bits_end_ = std::min<uint64_t>(run_bytes, bytes_.size() - at_) * 8;
    return true;
  }
  left_ = head >> 1;
  const size_t value_bytes = (static_cast<size_t>(bits_) + 7) / 8;
  if (left_ == 0 || value_bytes > bytes_.size() - at_) return false;
  value_ = 0;
  std::memcpy(&value_, bytes_.data() + at_, value_bytes);
  at_ += value_bytes;
  return true;
}

bool RunDecoder::Read(std::span<uint32_t> out) {
  while (!out.empty()) {
    if (left_ == 0 && !StartRun()) return false;
    const size_t count = std::min<uint64_t>(left_, out.size());
    if (!is_packed_) {
      std::fill_n(out.begin(), count, value_);
    } else {
      const std::span<const char> packed = bytes_.subspan(at_);
      if (bit_at_ + count * static_cast<uint64_t>(bits_) > bits_end_) return false;
      for (size_t i = 0; i < count; ++i) {
        out[i] = static_cast<uint32_t>(BitsAt(packed, bit_at_, bits_));
        bit_at_ += static_cast<uint64_t>(bits_);
      }
    }
    left_ -= count;
    if (left_ == 0 && is_packed_) at_ += bits_end_ / 8;
    out = out.subspan(count);
  }
  return true;
}

bool ReadDeltas(std::span<const char> bytes, bool is_32_bits, size_t most_values, std::vector<int64_t>& values,
                size_t& taken) {
  uint64_t block_values = 0;
  uint64_t miniblocks = 0;
  uint64_t count = 0;
  uint64_t value = 0;
  size_t at = 0;
  if (!TakeVarint(bytes, at, block_values) || !TakeVarint(bytes, at, miniblocks) || !TakeVarint(bytes, at, count) ||
      !TakeSigned(bytes, at, value)) {
    return false;
  }
  if (miniblocks == 0 || miniblocks > kMostMiniblocks || block_values == 0 || block_values > kMostBlockValues ||
      block_values % miniblocks != 0 || count > most_values) {
    return false;
  }
  const uint64_t values_of_miniblock = block_values / miniblocks;
  if (values_of_miniblock % 8 != 0) return false;
  const auto add = [&] {
    values.push_back(is_32_bits ? static_cast<int64_t>(static_cast<int32_t>(value)) : static_cast<int64_t>(value));
  };
  values.clear();
  values.reserve(count);
  if (count > 0) add();
  while (values.size() < count) {
    uint64_t least = 0;
    if (!TakeSigned(bytes, at, least) || miniblocks > bytes.size() - at) return false;
    const std::span<const char> widths = bytes.subspan(at, miniblocks);
    at += miniblocks;
    for (size_t i = 0; i < miniblocks && values.size() < count; ++i) {
      const int bits = static_cast<uint8_t>(widths[i]);
      if (bits > 64) return false;
      const uint64_t packed_bytes = values_of_miniblock / 8 * static_cast<uint64_t>(bits);
      const uint64_t wanted = std::min<uint64_t>(values_of_miniblock, count - values.size());
      // The last miniblock may lack what is not needed.
      const uint64_t needed_bytes = (wanted * static_cast<uint64_t>(bits) + 7) / 8;
      if (needed_bytes > bytes.size() - at) return false;
      const std::span<const char> packed = bytes.subspan(at, std::min<uint64_t>(packed_bytes, bytes.size() - at));
      for (uint64_t k = 0; k < wanted; ++k) {
        value += least + BitsAt(packed, k * static_cast<uint64_t>(bits), bits);
        add();
      }
      at += packed.size();
    }
  }
  taken = at;
  return true;
}

bool ReadPlainTexts(std::span<const char> bytes, size_t count, std::vector<std::string_view>& texts) {
  texts.clear();
  // Each takes four bytes at least.
  if (count > bytes.size() / 4) return false;
  texts.reserve(count);
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t size = 0;
    if (bytes.size() - at < sizeof(size)) return false;
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    at += sizeof(size);
    if (size > bytes.size() - at) return false;
    texts.emplace_back(bytes.data() + at, size);
    at += size;
  }
  return true;
}

bool ReadDeltaLengthTexts(std::span<const char> bytes, size_t count, std::vector<std::string_view>& texts) {
  std::vector<int64_t> sizes;
  size_t at = 0;
  texts.clear();
  if (!ReadDeltas(bytes, true, count, sizes, at) || sizes.size() != count) return false;
  texts.reserve(count);
  for (const int64_t size : sizes) {
    if (size < 0 || static_cast<uint64_t>(size) > bytes.size() - at) return false;
    texts.emplace_back(bytes.data() + at, static_cast<size_t>(size));
    at += static_cast<size_t>(size);
  }
  return true;
}

bool ReadDeltaTexts(std::span<const char> bytes, size_t count, size_t most_bytes, std::vector<char>& storage,
                    std::vector<std::string_view>& texts) {
  std::vector<int64_t> prefixes;
  std::vector<std::string_view> suffixes;
  size_t at = 0;
  texts.clear();
  storage.clear();
  if (!ReadDeltas(bytes, true, count, prefixes, at) || prefixes.size() != count) return false;
  if (!ReadDeltaLengthTexts(bytes.subspan(at), count, suffixes)) return false;
  size_t total = 0;
  size_t last = 0;
  for (size_t i = 0; i < count; ++i) {
    if (prefixes[i] < 0 || static_cast<uint64_t>(prefixes[i]) > last) return false;
    last = static_cast<size_t>(prefixes[i]) + suffixes[i].size();
    if (last > most_bytes - total) return false;
    total += last;
  }
  storage.resize(total);
  texts.reserve(count);
  char* to = storage.data();
  std::string_view before;
  for (size_t i = 0; i < count; ++i) {
    const auto prefix = static_cast<size_t>(prefixes[i]);
    if (prefix > 0) std::memcpy(to, before.data(), prefix);
    if (!suffixes[i].empty()) std::memcpy(to + prefix, suffixes[i].data(), suffixes[i].size());
    before = {to, prefix + suffixes[i].size()};
    texts.push_back(before);
    to += before.size();
  }
  return true;
}

bool JoinSplitBytes(std::span<const char> bytes, size_t width, size_t count, std::vector<char>& joined) {
  if (width == 0 || bytes.size() / width < count) return false;
  const size_t stride = bytes.size() / width;
  joined.resize(count * width);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < width; ++k) joined[i * width + k] = bytes[k * stride + i];
  }
  return true;
}

}  // namespace kprof
