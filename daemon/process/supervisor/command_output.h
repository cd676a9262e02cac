// One stream of what a command prints, on its way out of the supervisor: into a log (output_to_log.h), or to kprofd,
// which keeps the logs itself (output_to_daemon.h). The supervisor polls for what it waits for and gives it turns.
//
// One thread. Never waits: a turn does one piece, so that the supervisor hears its channel between turns.
#pragma once

#include <poll.h>

#include <cstdint>

namespace kprof {

class CommandOutput {
 public:
  virtual ~CommandOutput() = default;

  // What a turn waits for; fd -1 when there is nothing to wait for any more.
  virtual pollfd wait() const = 0;
  virtual void Turn() = 0;

  // Nobody is expected to print any more: only what has been printed by now still goes out. Somebody outside the tree
  // may hold the other end and go on, for whom nobody waits.
  virtual void Close() = 0;
  // After Close: it is all out.
  virtual bool out() const = 0;

  virtual int64_t printed_bytes() const = 0;
  virtual int64_t dropped_bytes() const = 0;
  virtual int first_error() const = 0;  // errno of the first failed write, 0 for none
};

}  // namespace kprof
