// A vendor's tool while it runs: a child in a process group of its own. Its output is read, and the tail of its stderr
// is kept. Knows no tool and no format; its users do (neuron_tools.h, dcgm_door.h).
//
// One thread, which must live as long as this: the kernel kills the child when the thread that started it ends, so the
// tool never outlives its starter. Starting one copies this process's page tables (a fork: nothing else can tell the
// kernel so). No call waits longer than it says.
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
  // entered; it must outlive this; null: nowhere. Waits until the program runs: 10 s at most, where its file system
  // hangs. Fails with kToolMissing where there is no such program, kSpawnFailed where it cannot be started.
  static Result<ToolProcess> Start(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                                   OwnChildren* own);
  // Kills it and its group. One that hangs in the driver is given up after 2 s: it leaves `own`, and so is left to the
  // sweep of processes that are not our own.
  ~ToolProcess();
  ToolProcess(ToolProcess&& other) noexcept;
  ToolProcess& operator=(ToolProcess&&) = delete;

  enum class Heard { kBytes, kNothing, kEnd };
  // Appends its new output, at most 64 KiB, as soon as there is some. kNothing: none came within `wait_ms`, or
  // `wake_fd` became readable (-1: nobody wakes). kEnd: no more comes, as it has ended or closed its output.
  Heard Read(std::string& out, int wait_ms, int wake_fd = -1);

  // Readable when Read has something to give; -1 behind its end.
  int fd() const { return out_.get(); }

  // Waits `wait_ms` at most for its end. The status of waitpid; absent: it has not ended. Once it has, the rest of its
  // group is killed.
  std::optional<int> AwaitEnd(int wait_ms);
  // Asks it and its group to end, and kills those that have not within `grace_ms`; 0: at once.
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

// "status 1" or "signal 9 (SIGKILL)", from a status of waitpid.
std::string HowItEnded(int wait_status);

}  // namespace kprof
