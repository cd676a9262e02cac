// What a command prints, moved from its pipe into a log. For a daemon's own supervisor, whose user may write that file
// anyway: nobody stands between the command and the disk.
#pragma once

#include "daemon/launch/output_log_writer.h"
#include "daemon/process/supervisor/command_output.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class OutputToLog final : public CommandOutput {
 public:
  // Reads from `pipe`, which is non-blocking, until its end. The other descriptors are borrowed.
  OutputToLog(UniqueFd pipe, int log_fd, int progress_fd, OutputStream stream, OutputLimits limits)
      : pipe_(std::move(pipe)), log_(log_fd, progress_fd, stream, limits) {}

  pollfd wait() const override { return {pipe_.get(), POLLIN, 0}; }
  void Turn() override { Move(); }
  void Close() override;
  bool out() const override { return !pipe_.valid(); }
  int64_t printed_bytes() const override { return log_.written_bytes(); }
  int64_t dropped_bytes() const override { return log_.dropped_bytes(); }
  int first_error() const override { return log_.first_error(); }

 private:
  // One read. Returns whether there may be more at once.
  bool Move();

  UniqueFd pipe_;
  OutputLogWriter log_;
};

}  // namespace kprof
