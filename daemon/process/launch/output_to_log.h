// Moves what a command prints from its pipe into a log. Never waits: a turn takes what is there, up to a bound, so that
// the supervisor hears its channel between turns.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "daemon/process/output_log_writer.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class OutputPump {
 public:
  // Reads from `pipe_fd`, which is non-blocking, until its end.
  OutputPump(UniqueFd pipe_fd, OutputLogWriter& log) : pipe_(std::move(pipe_fd)), log_(log) {}

  // To poll for; -1 once the end has been seen.
  int fd() const { return pipe_.get(); }

  // One read. Returns whether there may be more at once.
  bool Turn();

  // What is left in the pipe when nobody is expected to write any more. Bounded: somebody outside the tree may hold the
  // other end and go on.
  void Drain();

 private:
  UniqueFd pipe_;
  OutputLogWriter& log_;
};

}  // namespace kprof
