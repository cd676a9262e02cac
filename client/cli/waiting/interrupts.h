// Ctrl-C, a kill or a closed terminal while one waits: the first SIGINT, SIGTERM or SIGHUP is news to act on, a second
// SIGINT or SIGTERM ends the process at once, whatever it is doing. A later SIGHUP does not: a terminal that closes may
// send several (the kernel and the shell one each), and nobody is left who is in a hurry. What was ignored when the
// process began (nohup, a script's `&`) stays ignored.
//
// Calls that wait go on after a signal (SA_RESTART), but for poll and its like: who waits, waits with WaitReadable.
//
// Signals are the process's, so there is one at a time; before and after it they do what they did. Needs no thread and
// starts none.
#pragma once

#include <optional>
#include <stop_token>
#include <thread>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof::cli {

class Interrupts {
 public:
  // A second signal ends the process with `exit_status`.
  explicit Interrupts(int exit_status);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Readable (poll) from the first signal on.
  int fd() const;
  // The first signal's number, 0 before it.
  int first() const;
  // Waits until `fd` can be read from without waiting (at its end, too), however long that takes. Whether it can: not
  // from the first signal on.
  bool WaitReadable(int fd) const;
};

// A call of KprofClient that Ctrl-C, a kill or a closed terminal ends, so that the verb can undo what it has begun
// before kprofctl exits. A second signal exits at once (interrupts.h), with nothing undone.
//
// A thread inside watches for the signal; the destructor ends it. One at a time, as of Interrupts.
class InterruptibleCall {
 public:
  // With nothing to undo, signals do what they did: `wanted` is false.
  explicit InterruptibleCall(bool wanted);
  ~InterruptibleCall();
  InterruptibleCall(const InterruptibleCall&) = delete;
  InterruptibleCall& operator=(const InterruptibleCall&) = delete;

  // For the call.
  std::stop_token stop() const { return stop_.get_token(); }
  // How it ended: its own answer, or kCancelled where that is due to a signal.
  Status Ended(const Status& answer) const;

 private:
  void Watch();

  // Set once.
  std::optional<Interrupts> interrupts_;
  UniqueFd over_;  // readable: no need to watch any more

  std::stop_source stop_;
  std::thread thread_;  // none unless wanted
};

}  // namespace kprof::cli
