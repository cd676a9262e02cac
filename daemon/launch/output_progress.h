// How a command's output lies in a file while it runs, so that 10 GB of it cost neither memory nor disk: the first
// head_bytes as they are; what comes after goes round in a ring of tail_bytes behind them. A small progress file beside
// it says how much was printed, so that a reader can follow live and knows what it missed.
//
//   stdout.log:       [ head: bytes 0 .. head ) [ ring: byte T lies at head + (T - head) % tail )
//   output.progress:  per stream, stdout first, 64 bytes: "kprofop1" (magic and version), u64 head_bytes, tail_bytes,
//                     claimed, written, printed, finished size, finished dropped (little-endian)
//
// No checksum: a record is rewritten with each piece of output and lies within one sector, and one that says what no
// writer writes (written above claimed, more dropped than printed...) is taken for none.
//
// The limits lie beside the log because they are the log's: what is configured may change between a crash and the start
// after it. The writer notes them before it writes a byte.
//
// The writer raises `claimed` before it overwrites ring bytes and `written` after, so a reader that finds claimed - p
// <= tail after its read knows that byte p was still there. `printed` is above `written` only once a write has failed:
// what came since was counted and not kept. When the run is over, Finish turns the file into what people expect: head,
// tail, and where bytes are missing one line that counts them. Before it puts the new file into place it notes its
// size: a file of that size is finished already, and a second Finish, after a crash, leaves it alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace kprof {

struct OutputLimits {
  int64_t head_bytes = 4 << 20;
  int64_t tail_bytes = 4 << 20;
  bool operator==(const OutputLimits&) const = default;
};

// The most of either. A record that says more is nonsense, so whoever lowers this no longer understands older logs.
constexpr int64_t kMostOutputLimitBytes = int64_t{1} << 30;

enum class OutputStream { kStdout = 0, kStderr = 1 };

// A stream's part of the progress file.
struct OutputProgress {
  OutputLimits limits;
  uint64_t claimed_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t printed_bytes = 0;
  uint64_t finished_size_bytes = 0;  // 0: not finished
  uint64_t finished_dropped_bytes = 0;
  bool operator==(const OutputProgress&) const = default;
};

constexpr size_t kOutputProgressBytes = 64;
constexpr int64_t OutputProgressOffset(OutputStream stream) {
  return static_cast<int64_t>(stream) * static_cast<int64_t>(kOutputProgressBytes);
}
std::array<char, kOutputProgressBytes> EncodeOutputProgress(const OutputProgress& progress);
// Nothing when it is of another version, or says what no writer writes.
std::optional<OutputProgress> DecodeOutputProgress(std::span<const char, kOutputProgressBytes> bytes);

}  // namespace kprof
