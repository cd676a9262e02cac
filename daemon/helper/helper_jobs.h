// What the helper waits for beside all else it does: its only thread waits for nobody. Either work that may block, in a
// process of its own, which answers with one message and perhaps a file and is then over; or a process that is on its
// way to another program. Whichever does not answer in time is killed.
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

// What must be looked up before it can be done, and the directory of users may not answer (account.h): each in a
// process of its own, a few at a time, and fewer of each uid, so that those of whom the directory says nothing keep
// nobody waiting of whom it does. Whose turn does not come waits.
//
// Each is answered once, within 10 s of its coming: what takes longer is killed and refused. Who asked and has gone is
// not answered, and nothing is done for them any more.
//
// The helper's one thread. Never blocks but for what `conclude` does.
struct Lookup {
  uint32_t uid = 0;                                          // in whose turn
  std::string run_id;                                        // for which run
  std::function<JobFinding()> look_up;                       // in a process of its own
  std::function<HelperMessage(const JobFinding&)> conclude;  // in this one, once; the answer
};

class LookupQueue {
 public:
  static constexpr size_t kMostAtATime = 32;
  static constexpr size_t kMostOfAUid = 4;
  static constexpr size_t kMostWaiting = 256;  // besides
  static constexpr int64_t kLimitNs = 10 * kNanosPerSecond;

  using Answered = std::function<void(const HelperMessage&)>;

  // `clock` must outlive it.
  explicit LookupQueue(const Clock& clock) : clock_(clock) {}

  // `answered` is called once, unless `asker` goes before. At once, from inside, with kQueueFull when too many wait.
  void Add(Lookup lookup, std::weak_ptr<const void> asker, Answered answered);

  // What is looked up for this run is not wanted any more: refused with kCancelled.
  void Withdraw(const std::string& run_id);

  // What to wait for before the next Turn(), which is due at the latest at the time returned; INT64_MAX: whenever.
  int64_t AddWaits(std::vector<pollfd>& waits) const;

  // Answers what can be, a few at a time, and goes on to the next.
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
