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

}  // namespace kprof::cli
