// What the helper waits for beside all else it does: its only thread waits for nobody. Either work that may block, in a
// process of its own, which answers with one message and perhaps a file and is then over; or a process that is on its
// way to another program. Whichever does not answer in time is killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

struct JobAnswer {
  HelperMessage message;
  UniqueFd file;
};

// What work has found out, in bytes whose form whoever takes them checks; or why there is nothing.
using JobFinding = std::variant<std::string, HelperRefused>;

HelperRefused RefusedFor(const Status& status);

// In a job's process: from now on it ends when `helper`, whose child it is, does; at once if that has ended. To be said
// again after the process has become somebody else: the kernel lets go of it then.
void EndWithTheHelper(pid_t helper);

class HelperJob {
 public:
  // Forks; `work` runs in the new process, where descriptor 3 is the way back, and which has no other of ours but the
  // standard ones. It lives on without this process, unless `work` says otherwise (EndWithTheHelper). Fails with
  // kQueueFull when no process can be made.
  static Result<HelperJob> Start(const std::function<JobAnswer()>& work, int64_t by_mono_ns);

  // The same for work that only finds something out: what follows from it is done here, by `conclude`. The process ends
  // with this one. A finding of more than about 400,000 bytes counts as none.
  static Result<HelperJob> StartFinding(const std::function<JobFinding()>& work, int64_t by_mono_ns,
                                        std::function<HelperMessage(const JobFinding&)> conclude);

  // Of a process that was forked elsewhere: once `result` is readable, `read_answer` says what came of it.
  static HelperJob Await(pid_t pid, UniqueFd result, int64_t by_mono_ns,
                         std::function<JobAnswer(int result)> read_answer);

  // Readable when the answer is there, or never will be.
  int fd() const { return result_.get(); }
  pid_t pid() const { return pid_; }
  int64_t by_mono_ns() const { return by_mono_ns_; }

  // REQUIRES: fd() is readable. Whatever the process said is checked: a refusal stands for nonsense and nothing.
  JobAnswer TakeAnswer() { return read_answer_(result_.get()); }

  // Nobody waits for it any more: kills it, unless fd() is readable. It ends by itself then, or it is reaped already,
  // and its number may be another's.
  void Kill();

 private:
  HelperJob(pid_t pid, UniqueFd result, int64_t by_mono_ns, std::function<JobAnswer(int)> read_answer)
      : pid_(pid), result_(std::move(result)), by_mono_ns_(by_mono_ns), read_answer_(std::move(read_answer)) {}

  pid_t pid_;
  UniqueFd result_;
  int64_t by_mono_ns_;
  std::function<JobAnswer(int)> read_answer_;
};

}  // namespace kprof
