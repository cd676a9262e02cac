// Work of the helper that may block, in a process of its own: the helper's only thread waits for nobody. The process
// works, and answers with one message and perhaps a file; then it is over. One that does not answer in time is killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "daemon/process/helper_protocol.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

struct JobAnswer {
  HelperMessage message;
  UniqueFd file;
};

class HelperJob {
 public:
  // Forks; `work` runs in the new process, where descriptor 3 is the way back and all above are whoever's they were.
  // Fails with kQueueFull when no process can be made.
  static Result<HelperJob> Start(const std::function<JobAnswer()>& work, int64_t by_mono_ns);

  // Readable when the answer is there, or never will be.
  int fd() const { return result_.get(); }
  pid_t pid() const { return pid_; }
  int64_t by_mono_ns() const { return by_mono_ns_; }

  // REQUIRES: fd() is readable. Whatever the process said is checked here: a refusal stands for nonsense and nothing.
  JobAnswer TakeAnswer();

  // It is late: kills it.
  void Kill();

 private:
  HelperJob(pid_t pid, UniqueFd result, int64_t by_mono_ns)
      : pid_(pid), result_(std::move(result)), by_mono_ns_(by_mono_ns) {}

  pid_t pid_;
  UniqueFd result_;
  int64_t by_mono_ns_;
};

}  // namespace kprof
