// Writes a command's output into its log as it comes: the supervisor's side of output_progress.h.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/launch/output_progress.h"

namespace kprof {

// One thread. Plain descriptors, no allocation per write; a failed write is remembered
// (first_error) and later output only counted, so that a full disk never stops the command.
class OutputLogWriter {
 public:
  // The descriptors are borrowed, opened for writing, not for appending. Notes the limits at once.
  OutputLogWriter(int log_fd, int progress_fd, OutputStream stream, OutputLimits limits);
  void Write(std::span<const char> bytes);

  int64_t written_bytes() const { return written_bytes_; }
  int64_t dropped_bytes() const;
  int first_error() const { return first_error_; }

 private:
  void Store(std::span<const char> bytes);
  void Publish();
  int64_t WriteAt(int64_t offset_bytes, std::span<const char> bytes);

  const int log_fd_;
  const int progress_fd_;
  const OutputStream stream_;
  const OutputLimits limits_;
  int64_t written_bytes_ = 0;  // as printed, kept or not
  int64_t claimed_bytes_ = 0;
  int64_t stored_bytes_ = 0;  // less than written_bytes_ after an error
  int first_error_ = 0;
};

}  // namespace kprof
