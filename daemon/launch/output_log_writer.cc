#include "daemon/launch/output_log_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kprof {

OutputLogWriter::OutputLogWriter(int log_fd, int progress_fd, OutputStream stream, OutputLimits limits)
    : log_fd_(log_fd), progress_fd_(progress_fd), stream_(stream), limits_(limits) {
  Publish();
}

void OutputLogWriter::Write(std::span<const char> bytes) {
  if (bytes.empty()) return;
  written_bytes_ += static_cast<int64_t>(bytes.size());
  if (first_error_ == 0) Store(bytes);
  Publish();
}

void OutputLogWriter::Store(std::span<const char> bytes) {
  int64_t at = stored_bytes_;
  auto write = [&](int64_t offset, int64_t count) {
    at += WriteAt(offset, bytes.first(static_cast<size_t>(count)));
    bytes = bytes.subspan(static_cast<size_t>(count));
  };
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t head_count = std::clamp<int64_t>(limits_.head_bytes - at, 0, size);
  if (head_count > 0) write(at, head_count);
  stored_bytes_ = claimed_bytes_ = at;
  if (first_error_ != 0 || bytes.empty()) return;

  // Of a piece longer than the ring only the end stays.
  const int64_t passed = std::max<int64_t>(0, static_cast<int64_t>(bytes.size()) - limits_.tail_bytes);
  at += passed;
  bytes = bytes.subspan(static_cast<size_t>(passed));
  claimed_bytes_ = at + static_cast<int64_t>(bytes.size());
  if (claimed_bytes_ > limits_.head_bytes + limits_.tail_bytes) Publish();
  while (!bytes.empty() && first_error_ == 0) {
    const int64_t place = (at - limits_.head_bytes) % limits_.tail_bytes;
    write(limits_.head_bytes + place,
          std::min<int64_t>(limits_.tail_bytes - place, static_cast<int64_t>(bytes.size())));
  }
  if (first_error_ != 0 && passed > 0) {
    // The ring is a mixture of which nothing can be told: claiming all of it says so.
    claimed_bytes_ = stored_bytes_ + limits_.tail_bytes;
    return;
  }
  stored_bytes_ = claimed_bytes_ = at;
}

int64_t OutputLogWriter::dropped_bytes() const {
  const int64_t in_head = std::min(stored_bytes_, limits_.head_bytes);
  const int64_t oldest = std::max(limits_.head_bytes, claimed_bytes_ - limits_.tail_bytes);
  return written_bytes_ - in_head - std::max<int64_t>(0, stored_bytes_ - oldest);
}

// Best effort: a progress file that cannot be written costs live reading, and the order of a ring that has gone round,
// not the run.
void OutputLogWriter::Publish() {
  OutputProgress progress;
  progress.limits = limits_;
  progress.claimed_bytes = static_cast<uint64_t>(claimed_bytes_);
  progress.written_bytes = static_cast<uint64_t>(stored_bytes_);
  // While a piece is being written it is not printed yet; see the header for what a difference means.
  progress.printed_bytes = static_cast<uint64_t>(first_error_ == 0 ? stored_bytes_ : written_bytes_);
  auto bytes = EncodeOutputProgress(progress);
  [[maybe_unused]] ssize_t written = ::pwrite(progress_fd_, bytes.data(), bytes.size(), OutputProgressOffset(stream_));
}

// Returns how many bytes it wrote; fewer than asked for only with first_error_ set.
int64_t OutputLogWriter::WriteAt(int64_t offset_bytes, std::span<const char> bytes) {
  int64_t done = 0;
  while (done < static_cast<int64_t>(bytes.size())) {
    ssize_t count =
        ::pwrite(log_fd_, bytes.data() + done, bytes.size() - static_cast<size_t>(done), offset_bytes + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      first_error_ = count < 0 ? errno : ENOSPC;
      break;
    }
    done += count;
  }
  return done;
}

}  // namespace kprof
