#include "daemon/launch/output_progress.h"

#include <algorithm>
#include <string_view>

namespace kprof {
namespace {

constexpr std::string_view kMagic = "kprofop1";
constexpr uint64_t kMostMarkerBytes = 256;  // of the lines that count what is missing

void PutU64(char* out, uint64_t value) {
  for (size_t i = 0; i < sizeof value; ++i) out[i] = static_cast<char>(value >> (8 * i) & 0xff);
}

uint64_t GetU64(const char* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

}  // namespace

std::array<char, kOutputProgressBytes> EncodeOutputProgress(const OutputProgress& progress) {
  std::array<char, kOutputProgressBytes> bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  PutU64(bytes.data() + 8, static_cast<uint64_t>(progress.limits.head_bytes));
  PutU64(bytes.data() + 16, static_cast<uint64_t>(progress.limits.tail_bytes));
  PutU64(bytes.data() + 24, progress.claimed_bytes);
  PutU64(bytes.data() + 32, progress.written_bytes);
  PutU64(bytes.data() + 40, progress.printed_bytes);
  PutU64(bytes.data() + 48, progress.finished_size_bytes);
  PutU64(bytes.data() + 56, progress.finished_dropped_bytes);
  return bytes;
}

std::optional<OutputProgress> DecodeOutputProgress(std::span<const char, kOutputProgressBytes> bytes) {
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) return std::nullopt;
  const uint64_t head = GetU64(bytes.data() + 8);
  const uint64_t tail = GetU64(bytes.data() + 16);
  constexpr auto kMostLimit = static_cast<uint64_t>(kMostOutputLimitBytes);
  if (head > kMostLimit || tail > kMostLimit) return std::nullopt;
  OutputProgress progress;
  progress.limits = {static_cast<int64_t>(head), static_cast<int64_t>(tail)};
  progress.claimed_bytes = GetU64(bytes.data() + 24);
  progress.written_bytes = GetU64(bytes.data() + 32);
  progress.printed_bytes = GetU64(bytes.data() + 40);
  progress.finished_size_bytes = GetU64(bytes.data() + 48);
  progress.finished_dropped_bytes = GetU64(bytes.data() + 56);
  constexpr auto kMost = static_cast<uint64_t>(INT64_MAX / 2);
  if (progress.claimed_bytes > kMost || progress.printed_bytes > kMost || progress.finished_size_bytes > kMost ||
      progress.finished_dropped_bytes > kMost || progress.written_bytes > progress.claimed_bytes ||
      progress.written_bytes > progress.printed_bytes || progress.finished_dropped_bytes > progress.printed_bytes ||
      progress.finished_size_bytes > head + tail + kMostMarkerBytes) {
    return std::nullopt;
  }
  return progress;
}

}  // namespace kprof
