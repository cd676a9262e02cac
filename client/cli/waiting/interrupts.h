// Ctrl-C, a kill or a closed terminal while kprofctl waits: Interrupts catches the signal, StopAtSignal and
// InterruptibleCall end a call to the daemon with it.
#pragma once

#include <optional>
#include <stop_token>
#include <thread>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Catches SIGINT, SIGTERM and SIGHUP. The first signal is news to act on; a second SIGINT or SIGTERM ends the process
// at once. A later SIGHUP does not: a closing terminal may send several (the kernel and the shell one each), and nobody
// is left who is in a hurry. A signal that was ignored when the process began (nohup, a script's `&`) stays ignored.
//
// Blocking calls go on after a signal (SA_RESTART), except poll and the like: wait with WaitReadable.
//
// Signals belong to the process, so there is one object at a time. It restores the former handlers at its end. Needs no
// thread and starts none.
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
  // Waits until `fd` can be read from without blocking (at its end, too), however long that takes. False: a first
  // signal came.
  bool WaitReadable(int fd) const;
};

// A stop token that the first signal requests, also one that came before. A thread inside watches for the signal; the
// destructor ends it. `interrupts` must outlive it.
class StopAtSignal {
 public:
  explicit StopAtSignal(const Interrupts& interrupts);
  ~StopAtSignal();
  StopAtSignal(const StopAtSignal&) = delete;
  StopAtSignal& operator=(const StopAtSignal&) = delete;

  std::stop_token stop() const { return stop_.get_token(); }

 private:
  const Interrupts& interrupts_;
  UniqueFd over_;  // readable: no need to watch any more
  std::stop_source stop_;
  std::thread thread_;
};

// Ends a call of KprofClient on the first signal, so that the verb can undo its work before kprofctl exits. A second
// signal exits at once, with nothing undone.
//
// One object at a time, as for Interrupts.
class InterruptibleCall {
 public:
  // `wanted` false: there is nothing to undo, so signals are left as they are.
  explicit InterruptibleCall(bool wanted);
  InterruptibleCall(const InterruptibleCall&) = delete;
  InterruptibleCall& operator=(const InterruptibleCall&) = delete;

  // Hand this to the call.
  std::stop_token stop() const { return at_signal_ ? at_signal_->stop() : std::stop_token(); }
  // The call's result: `answer`, or kCancelled for a failure after a signal.
  Status Ended(const Status& answer) const;

 private:
  // None unless wanted.
  std::optional<Interrupts> interrupts_;
  std::optional<StopAtSignal> at_signal_;
};

}  // namespace kprof::cli
