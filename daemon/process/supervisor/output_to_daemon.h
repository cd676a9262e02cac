// What a command prints, sent from its pipe to kprofd, which keeps the logs itself (output_intake.h):
// for a supervisor that is not kprofd's user's. A kprofd that is slow makes the command wait, as any full pipe does;
// when it is gone, what comes is dropped and counted.
#pragma once

#include <memory>
#include <span>

#include "daemon/process/supervisor/command_output.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class OutputToDaemon final : public CommandOutput {
 public:
  // Reads from `pipe`, which is non-blocking, until its end; sends over `socket`, a stream socket.
  OutputToDaemon(UniqueFd pipe, UniqueFd socket);

  pollfd wait() const override;
  void Turn() override;
  void Close() override;
  bool out() const override { return !pipe_.valid() && rest_.empty(); }
  int64_t printed_bytes() const override { return printed_bytes_; }
  int64_t dropped_bytes() const override { return dropped_bytes_ + static_cast<int64_t>(rest_.size()); }
  int first_error() const override { return 0; }  // kprofd's to know

 private:
  void Read();
  void Send();

  UniqueFd pipe_;
  UniqueFd socket_;  // none: kprofd is gone
  const std::unique_ptr<char[]> block_;
  std::span<const char> rest_;  // of the block, still to be sent
  int64_t last_bytes_ = -1;     // after Close: so many of the pipe are still wanted
  int64_t printed_bytes_ = 0;
  int64_t dropped_bytes_ = 0;
};

}  // namespace kprof
