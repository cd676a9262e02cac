// The log of a command's output: its form in the file, the supervisor's writer, the daemon's reader, and FinishOutput,
// which makes a plain file of it when the run is over.
//
// 10 GB of output cost neither memory nor disk: the first head_bytes lie in the file as they are, and later output goes
// round in a ring of tail_bytes behind them. A small progress file beside the log says how much was printed, so a
// reader can follow live and knows how much it missed.
//
//   stdout.log:       [ head: bytes 0 .. head ) [ ring: byte T lies at head + (T - head) % tail )
//   output.progress:  per stream, stdout first, 64 bytes: "kprofop1" (magic and version), u64 head_bytes, tail_bytes,
//                     claimed, written, printed, finished size, finished dropped (little-endian)
//
// A record has no checksum: it is rewritten with each piece of output and lies within one sector. A record that no
// writer writes (written above claimed, more dropped than printed...) counts as none. The limits are part of the
// record, and the writer notes them before it writes a byte: the configured limits may change between a crash and the
// next start.
//
// The writer raises `claimed` before it overwrites ring bytes and `written` after. So a reader that finds claimed - p
// <= tail after its read knows that byte p was still there. `printed` is above `written` only after a failed write:
// later output was counted and not kept. FinishOutput turns the file into what people expect: head, tail, and one line
// in place of missing bytes that counts them. It notes the new file's size before it puts the file into place. A file
// of that size is finished already, and a second FinishOutput, after a crash, leaves it alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// How much of a stream its log keeps: the first bytes, and the last ones.
struct OutputLimits {
  int64_t head_bytes = 4 << 20;
  int64_t tail_bytes = 4 << 20;
  bool operator==(const OutputLimits&) const = default;
};

// The most of either. A record that says more is invalid, so a build that lowers this cannot read older logs.
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
// Nothing for a record of another version, or one that no writer writes.
std::optional<OutputProgress> DecodeOutputProgress(std::span<const char, kOutputProgressBytes> bytes);

// Writes a command's output into its log as it comes; the supervisor's side. One thread. Plain descriptors, no
// allocation per write. A failed write is remembered (first_error) and later output only counted, so a full disk never
// stops the command.
//
// Logs give way to all else on a disk that gets full: beyond its first kAlwaysKeptBytes a log grows only where it
// leaves kSparedBytes free, or a sixteenth of a small file system. Else that counts as a failed write (ENOSPC). The
// catalog needs that room to store how the run ended.
class OutputLogWriter {
 public:
  static constexpr int64_t kAlwaysKeptBytes = 64 << 10;
  static constexpr int64_t kSparedBytes = 16 << 20;

  // The descriptors are borrowed, opened for writing, not for appending. Notes the limits at once.
  OutputLogWriter(int log_fd, int progress_fd, OutputStream stream, OutputLimits limits);
  void Write(std::span<const char> bytes);

  int64_t written_bytes() const { return written_bytes_; }
  int64_t dropped_bytes() const;
  int first_error() const { return first_error_; }

 private:
  void Store(std::span<const char> bytes);
  void Publish();
  bool LeavesRoom(int64_t size_bytes);
  int64_t WriteAt(int64_t offset_bytes, std::span<const char> bytes);

  const int log_fd_;
  const int progress_fd_;
  const OutputStream stream_;
  const OutputLimits limits_;
  int64_t written_bytes_ = 0;  // as printed, kept or not
  int64_t claimed_bytes_ = 0;
  int64_t stored_bytes_ = 0;  // less than written_bytes_ after an error
  int64_t may_grow_to_bytes_ = kAlwaysKeptBytes;
  int first_error_ = 0;
};

// A piece of a live log. `dropped_bytes` were printed before `bytes` and are gone.
struct OutputPiece {
  int64_t dropped_bytes = 0;
  std::string bytes;
  int64_t next_offset = 0;  // where to read on
  OutputLimits limits;      // the log's
};

// Reads what was printed from `offset` on, at most limit_bytes; empty when there is nothing new. Not for a finished
// log. Any thread.
Result<OutputPiece> ReadLiveOutput(Files& files, const std::string& log_path, const std::string& progress_path,
                                   OutputStream stream, int64_t offset, int64_t limit_bytes);

constexpr int64_t kGivenBytes = 1 << 20;

struct FinishedOutput {
  int64_t size_bytes = 0;  // of the file now; 0: there is no file
  std::string sha256;      // of the file
  int64_t printed_bytes = 0;
  int64_t dropped_bytes = 0;
};

// Puts head and tail in order (through a .partial and a rename), syncs the file (not its folder) and sums it. Removes a
// log of no bytes. Also works after a crash, from the progress file alone, and again after a crash of its own. With a
// missing or invalid progress file, the log counts as complete, up to the greatest size that a log can have. A file
// that somebody made longer is kept and summed only as far as the limits allow. On a full disk the log gives way: it is
// finished in place, without a tail that went round, and if need be without its last bytes, at most kGivenBytes of them
// and half of it. REQUIRES: the writer is gone. The progress file stays. Once the caller removes it, only the returned
// value tells how much the log dropped. From a worker.
Result<FinishedOutput> FinishOutput(Files& files, const std::string& log_path, const std::string& progress_path,
                                    OutputStream stream);

// Where bytes are missing in a finished log.
struct LogGap {
  int64_t offset_bytes = 0;  // of the line that counts them
  int64_t line_bytes = 0;
  int64_t dropped_bytes = 0;
};

// Finds the one gap of a finished log from which `dropped_bytes` were dropped; nothing where they are in two places, as
// after a full disk. Reads the file up to there.
Result<std::optional<LogGap>> FindGap(File& log, int64_t dropped_bytes);

}  // namespace kprof
