// A command's output on its way out of the supervisor: each stream into a log (OutputToLog) or to kprofd, which keeps
// the logs itself (OutputToDaemon), and straight to the client that follows the run (OutputToClient), and its metrics
// (MetricPipe). The supervisor polls for what they wait for and gives them turns.
//
// One thread. Never waits: a turn does one piece, so that the supervisor hears its channel between turns.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "daemon/launch/output_log.h"
#include "storage/base/descriptors.h"

namespace kprof {

// The text that a command writes to $KPROF_METRICS, kept until its end: the first bytes of it, up to a limit; the rest
// is counted. The daemon reads its meaning: a supervisor knows no JSON, and is its caller's own process, whose word
// would not count.
//
// The command holds the other end of the pipe under a high number and finds its path in $KPROF_METRICS: /proc/PID/fd/N,
// which any process of the command's user can open, also one that was started without that descriptor.
class MetricPipe {
 public:
  // `read_end` does not block.
  MetricPipe(UniqueFd read_end, size_t most_bytes) : pipe_(std::move(read_end)), most_bytes_(most_bytes) {}

  // fd -1 once nobody can write any more.
  pollfd wait() const { return {pipe_.valid() ? pipe_.get() : -1, POLLIN, 0}; }
  void Turn();
  // Takes what is there and no more, whoever still holds the other end.
  void Close();

  std::string TakeText() { return std::move(text_); }
  int64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  bool Move();

  UniqueFd pipe_;
  size_t most_bytes_;
  std::string text_;
  int64_t dropped_bytes_ = 0;
};

// The sockets to the client that follows the run; invalid where none does.
struct ClientSockets {
  UniqueFd out;
  UniqueFd err;
};

// Passes a stream on to the client that follows the run (launch_protocol.h), whole and in order. What the socket does
// not take waits here, and the stream is read no further meanwhile: a slow reader makes the command wait, as any full
// pipe does. A client that is gone gets nothing more, and the command does not notice.
class OutputToClient {
 public:
  explicit OutputToClient(UniqueFd socket) : socket_(std::move(socket)) {}

  // fd -1 where there is no client any more.
  pollfd wait() const;
  // Sends what waits, and hears the client.
  void Turn();
  void Send(std::span<const char> bytes);

  bool is_full() const { return !rest_.empty(); }
  // The client said that nobody reads what it writes the stream to.
  bool reader_gone() const { return reader_gone_; }

 private:
  void Hear();
  void SendRest();
  size_t SendSome(std::span<const char> bytes);
  void Forget();

  UniqueFd socket_;
  std::string rest_;
  bool reader_gone_ = false;
};

// One stream of a command's output.
class CommandOutput {
 public:
  // Reads from `pipe`, which is non-blocking, until its end.
  CommandOutput(UniqueFd pipe, UniqueFd client) : pipe_(std::move(pipe)), client_(std::move(client)) {}
  virtual ~CommandOutput() = default;

  OutputToClient& client() { return client_; }
  // Closes the end that is read: who prints gets SIGPIPE.
  void BreakPipe() { pipe_.Reset(); }
  bool is_broken() const { return !pipe_.valid(); }
  // From now on the last that is printed is kept for TakeTail.
  void KeepTail() { keeps_tail_ = true; }
  // The last that was printed since the last call: kTailBytes at most.
  std::string TakeTail();
  // Reads from this one from now on. REQUIRES: it is broken.
  void UsePipe(UniqueFd pipe) { pipe_ = std::move(pipe); }

  // The event that the next turn waits for; fd -1 when there is nothing to wait for any more.
  virtual pollfd wait() const = 0;
  virtual void Turn() = 0;

  // Only the output that was printed by now still goes out. A process outside the tree may hold the other end and go on
  // printing; nobody waits for it.
  virtual void Close() = 0;
  // After Close: it is all out.
  virtual bool out() const = 0;

  virtual int64_t printed_bytes() const = 0;
  virtual int64_t dropped_bytes() const = 0;
  virtual int first_error() const = 0;  // errno of the first failed write, 0 for none

 protected:
  static constexpr size_t kTailBytes = 64 << 10;
  // For TakeTail.
  void Remember(std::span<const char> bytes);

  UniqueFd pipe_;
  OutputToClient client_;

 private:
  bool keeps_tail_ = false;
  std::string tail_;
};

// Moves a stream from the command's pipe into a log. For a daemon's own supervisor, whose user may write that file
// anyway.
class OutputToLog final : public CommandOutput {
 public:
  // The descriptors of log and progress are borrowed.
  OutputToLog(UniqueFd pipe, UniqueFd client, int log_fd, int progress_fd, OutputStream stream, OutputLimits limits)
      : CommandOutput(std::move(pipe), std::move(client)), log_(log_fd, progress_fd, stream, limits) {}

  pollfd wait() const override { return {client_.is_full() ? -1 : pipe_.get(), POLLIN, 0}; }
  void Turn() override { Move(); }
  void Close() override;
  bool out() const override { return !pipe_.valid() && !client_.is_full(); }
  int64_t printed_bytes() const override { return log_.written_bytes(); }
  int64_t dropped_bytes() const override { return log_.dropped_bytes(); }
  int first_error() const override { return log_.first_error(); }

 private:
  // One read. Returns whether there may be more at once.
  bool Move();

  OutputLogWriter log_;
};

// Sends a stream from the command's pipe to kprofd, which keeps the logs itself (output_intake.h): for a supervisor of
// another user than kprofd's. A kprofd that is slow makes the command wait, as any full pipe does; when it is gone, the
// output is dropped and counted.
class OutputToDaemon final : public CommandOutput {
 public:
  // Sends over `socket`, a stream socket.
  OutputToDaemon(UniqueFd pipe, UniqueFd client, UniqueFd socket);

  pollfd wait() const override;
  void Turn() override;
  void Close() override;
  bool out() const override { return !pipe_.valid() && rest_.empty() && !client_.is_full(); }
  int64_t printed_bytes() const override { return printed_bytes_; }
  int64_t dropped_bytes() const override { return dropped_bytes_ + static_cast<int64_t>(rest_.size()); }
  int first_error() const override { return 0; }  // kprofd's to know

 private:
  void Read();
  void Send();

  UniqueFd socket_;  // none: kprofd is gone
  const std::unique_ptr<char[]> block_;
  std::span<const char> rest_;  // of the block, still to be sent
  int64_t last_bytes_ = -1;     // after Close: bytes of the pipe that still go out
  int64_t printed_bytes_ = 0;
  int64_t dropped_bytes_ = 0;
};

}  // namespace kprof
