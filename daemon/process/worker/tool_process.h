// A Neuron tool while it runs: a child in a process group of its own, whose output is read and of whose stderr the tail
// is kept. Knows no tool and no format; those are neuron_tools.h and neuron_tools.h.
//
// One thread, which must live as long as this: the kernel kills the child when the thread ends that started it, so that
// it never outlives kprofd. Starting one copies this process's page tables (a fork: nothing else can tell the kernel
// so). No call waits longer than it says.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "daemon/process/worker/worker_process.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class ToolProcess {
 public:
  // `argv[0]` is the program's path; `environment` is all that it gets. `own`: where children of this process are
  // entered, and must outlive this; null: nowhere. Waits until the program runs: 10 s at most, where its file system
  // hangs. Fails with kToolMissing where there is no such program, kSpawnFailed where it cannot be started.
  static Result<ToolProcess> Start(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                                   OwnChildren* own);
  // Kills it and its group. One that hangs in the driver is given up after 2 s: it is entered nowhere any more, and so
  // left to whoever ends and reaps what is not our own.
  ~ToolProcess();
  ToolProcess(ToolProcess&& other) noexcept;
  ToolProcess& operator=(ToolProcess&&) = delete;

  enum class Heard { kBytes, kNothing, kEnd };
  // Appends what it has printed, at most 64 KiB, as soon as there is some. kNothing: none came within `wait_ms`, or
  // `wake_fd` became readable (-1: nobody wakes). kEnd: no more comes, as it has ended or closed its output.
  Heard Read(std::string& out, int wait_ms, int wake_fd = -1);

  // Readable when Read has something to give; -1 behind its end.
  int fd() const { return out_.get(); }

  // The status of waitpid, once it has ended, at most `wait_ms` from now; what is left of its group is killed then.
  std::optional<int> AwaitEnd(int wait_ms);
  // Asks it and its group to end, and kills what has not within `grace_ms`; 0: at once.
  void End(int grace_ms);

  // The last 2 KiB that it wrote to stderr, on one line that can be shown.
  std::string ErrorTail() const;

 private:
  ToolProcess(pid_t pid, UniqueFd pid_fd, UniqueFd out, UniqueFd error, OwnChildren* own);
  void ReadErrors();
  void Forget();

  OwnChildren* const own_;
  pid_t pid_ = -1;  // -1: reaped, or given up
  UniqueFd pid_fd_;
  UniqueFd out_;
  UniqueFd error_;
  std::string error_tail_;
};

// "status 1" or "signal 9 (SIGKILL)", of a status of waitpid.
std::string HowItEnded(int wait_status);

}  // namespace kprof
