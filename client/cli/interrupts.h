// Ctrl-C while one waits: the first SIGINT or SIGTERM is news to act on, the second ends the process at once, whatever
// it is doing. Signals are the process's, so there is one at a time; before and after it they do what they did.
#pragma once

namespace kprof::cli {

class Interrupts {
 public:
  // The second signal ends the process with `exit_status`.
  explicit Interrupts(int exit_status);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Readable (poll) from the first signal on.
  int fd() const;
  // The first signal's number, 0 before it.
  int first() const;
};

}  // namespace kprof::cli
