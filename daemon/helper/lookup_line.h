// What must be looked up before it can be done, and the directory of users may not answer (account.h): each in a
// process of its own, a few at a time, and fewer of each uid, so that those of whom the directory says nothing keep
// nobody waiting of whom it does. Whose turn does not come waits.
//
// Each is answered once, within 10 s of its coming: what takes longer is killed and refused. Who asked and has gone is
// not answered, and nothing is done for them any more.
//
// The helper's one thread. Never blocks but for what `conclude` does.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/helper/helper_jobs.h"
#include "storage/base/clock.h"

namespace kprof {

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
