// Work that the helper's only thread must not wait for. A HelperJob is either work that may block, in a process of its
// own, which answers with one message and perhaps a file and is then over; or a process that is on its way to another
// program. A Lookup is a job that asks the directory of users. A job that does not answer in time is killed.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

struct JobAnswer {
  HelperMessage message;
  UniqueFd file;
};

// The finding of some work, in bytes whose form the receiver checks; or why there is none.
using JobFinding = std::variant<std::string, HelperRefused>;

HelperRefused RefusedFor(const Status& status);

// Call it in a job's process: from now on that ends when `helper`, its parent, does; at once if that has ended. Call it
// again after the process has become somebody else: the kernel lets go of it then.
void EndWithTheHelper(pid_t helper);

class HelperJob {
 public:
  // Forks; `work` runs in the new process, where descriptor 3 is the way back. That process has only the standard ones
  // of our descriptors. It lives on without this process, unless `work` says otherwise (EndWithTheHelper). Fails with
  // kQueueFull when no process can be made.
  static Result<HelperJob> Start(const std::function<JobAnswer()>& work, int64_t by_mono_ns);

  // The same for work that only finds something out: `conclude`, in this process, makes the answer of it. The process
  // ends with this one. A finding of more than about 400,000 bytes counts as none.
  static Result<HelperJob> StartFinding(const std::function<JobFinding()>& work, int64_t by_mono_ns,
                                        std::function<HelperMessage(const JobFinding&)> conclude);

  // A job for a process that was forked elsewhere: once `result` is readable, `read_answer` reads the outcome.
  static HelperJob Await(pid_t pid, UniqueFd result, int64_t by_mono_ns,
                         std::function<JobAnswer(int result)> read_answer);

  // Readable when the answer is there, or never will be.
  int fd() const { return result_.get(); }
  pid_t pid() const { return pid_; }
  int64_t by_mono_ns() const { return by_mono_ns_; }

  // REQUIRES: fd() is readable. The process's answer is checked: one that makes no sense, or none, becomes a refusal.
  JobAnswer TakeAnswer() { return read_answer_(result_.get()); }

  // Nobody waits for it any more: kills the process, unless fd() is readable. In that case it ends by itself, or is
  // reaped already and its number may be another's.
  void Kill();

 private:
  HelperJob(pid_t pid, UniqueFd result, int64_t by_mono_ns, std::function<JobAnswer(int)> read_answer)
      : pid_(pid), result_(std::move(result)), by_mono_ns_(by_mono_ns), read_answer_(std::move(read_answer)) {}

  pid_t pid_;
  UniqueFd result_;
  int64_t by_mono_ns_;
  std::function<JobAnswer(int)> read_answer_;
};

// A question to the directory of users, which may not answer (account.h), and the work that follows from the answer.
struct Lookup {
  uint32_t uid = 0;                                          // whose turn it takes
  std::string run_id;                                        // the run that it is for
  std::function<JobFinding()> look_up;                       // in a process of its own
  std::function<HelperMessage(const JobFinding&)> conclude;  // in this one, once; the answer
};

// Does lookups, each in a process of its own, a few at a time and fewer of each uid. So a uid that the directory says
// nothing of keeps only its own lookups waiting. A lookup whose turn has not come waits.
//
// Each is answered once, within 10 s of its coming: one that takes longer is killed and refused. If the asker has gone,
// the lookup is dropped without an answer.
//
// The helper's one thread. Never blocks, except in `conclude`.
class LookupQueue {
 public:
  static constexpr size_t kMostAtATime = 32;
  static constexpr size_t kMostOfAUid = 4;
  static constexpr size_t kMostWaiting = 256;  // besides
  static constexpr int64_t kLimitNs = 10 * kNanosPerSecond;

  using Answered = std::function<void(const HelperMessage&)>;

  // `clock` must outlive it.
  explicit LookupQueue(const Clock& clock) : clock_(clock) {}

  // `answered` is called once, unless `asker` goes before. It is called at once, from inside, with kQueueFull when too
  // many wait.
  void Add(Lookup lookup, std::weak_ptr<const void> asker, Answered answered);

  // Ends this run's lookups: they are refused with kCancelled.
  void Withdraw(const std::string& run_id);

  // Adds the descriptors that the next Turn() waits for. Returns the time at which it is due at the latest; INT64_MAX:
  // whenever.
  int64_t AddWaits(std::vector<pollfd>& waits) const;

  // Answers those that can be answered, a few at a time, and starts the next.
  void Turn();

 private:
  struct Asked {
    Lookup lookup;
    std::weak_ptr<const void> asker;
    Answered answered;
    int64_t by_mono_ns = 0;
  };
  struct Running {
    Asked asked;
    HelperJob job;
  };

  void Drop();
  void Start();
  bool has_turn(uint32_t uid) const;

  const Clock& clock_;
  std::vector<Running> running_;
  std::deque<Asked> waiting_;  // in the order of coming
};

}  // namespace kprof
