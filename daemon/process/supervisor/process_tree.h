// The processes below the supervisor: the command, its children, and those that tried to get away (the supervisor is
// their subreaper). Ends, reaps and counts them. supervisor.h decides when.
//
// Never waits for a process to end: the caller hears of ends by SIGCHLD, and calls Reap.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace kprof {

struct TreeUsage {
  int64_t user_cpu_ns = 0;
  int64_t system_cpu_ns = 0;
  int64_t max_rss_bytes = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
};

class ProcessTree {
 public:
  // The command itself; all but `pid` once it has been reaped.
  struct Command {
    pid_t pid = -1;
    std::optional<int> wait_status;
    int64_t ended_unix_ns = 0;
    int64_t ended_mono_ns = 0;
  };

  void SetCommand(pid_t pid) { command_.pid = pid; }
  const Command& command() const { return command_; }

  // Reaps all that have ended. Returns whether any child is left. Cheap: asks the kernel, not /proc.
  bool Reap();

  // TERM (and CONT, so that a stopped one hears it) to all, each once. Those that outlive the command count as
  // leftovers.
  void Terminate();

  // One round of freezing and killing all; to be repeated until Reap says that none is left.
  struct KillRound {
    int64_t reached = 0;
    int64_t refused = 0;  // not ours to signal
  };
  KillRound Kill();

  // Counts those that live now; reads /proc.
  int64_t CountLiving() const;

  // Processes that outlived the command and had to be ended.
  int64_t leftovers() const { return leftovers_; }

  // The usage of all that were reaped so far, with what they had reaped themselves.
  const TreeUsage& usage() const { return usage_; }

 private:
  std::vector<pid_t> Find();
  // Once the command itself is over.
  void CountLeftovers(const std::vector<pid_t>& found);

  Command command_;
  TreeUsage usage_;
  int64_t leftovers_ = 0;
  // Both forget a pid when it is reaped here: it may come again.
  std::set<pid_t> terminated_;
  std::set<pid_t> counted_;  // in leftovers_
};

}  // namespace kprof
