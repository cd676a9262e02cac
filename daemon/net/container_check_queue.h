// Finds out where the caller of each new connection is (caller_place.h), before the connection is served: a handler's
// caller never changes. Somebody else, mostly the root helper, answers. Meanwhile nothing is read from the connection,
// and it delays no other user's: users are asked for in turn, each for a few connections at a time. A connection that
// hangs up meanwhile is dropped.
//
// No connection waits longer than 2 s: then its caller's place is unknown, and the connection is to be made anew soon
// (caller_servers.h). While an answer has been owed for that long, no new connection is asked for or waits.
//
// Io loop only. The loop must outlive it, and it must outlive the object that answers.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>

#include "daemon/access/call_admission.h"
#include "daemon/base/io_loop.h"
#include "daemon/process/helper_client/caller_place.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class ContainerCheckQueue {
 public:
  // Called once, with the place that was found; a failure: nobody can say.
  using Answered = std::function<void(Result<CallerPlace>)>;
  // Gets a duplicate of the connection. Answers from the loop, never from inside, and always at some time.
  using Ask = std::function<void(UniqueFd duplicate, Answered answered)>;
  // Gets the place, and the connection back; kQueueFull: too many connections of this user, or of all, wait.
  using Found = std::function<void(Result<CallerPlace>, UniqueFd connection)>;

  static constexpr size_t kMostAsked = 64;
  static constexpr size_t kMostAskedPerAccount = 8;
  static constexpr int64_t kLimitNs = 2 * kNanosPerSecond;

  // `late` is called each time that a connection has waited for too long; it may be empty.
  ContainerCheckQueue(IoLoop& loop, const ConnectionLimits& limits, Ask ask, std::function<void()> late);

  // `account`: the user that its caller counts as. `found` may be called from inside.
  void Find(uint32_t account, UniqueFd connection, Found found);

  void SetLimits(const ConnectionLimits& limits);

  // From here on nothing waits: the place of each caller, waiting or new, is unknown.
  void Close();

 private:
  using Id = uint64_t;  // in the order of coming
  struct Waiting {
    uint32_t account = 0;
    UniqueFd connection;
    Found found;
    IoLoop::Timer limit;
  };
  struct Account {
    int64_t waiting = 0;
    std::set<Id> in_line;  // waiting, and not asked for yet
    size_t asked = 0;      // and not answered, also when it has stopped waiting
  };

  bool is_silent() const;
  void AskNext();
  void AskFor(Id id);
  void OnLimit(Id id);
  void Finish(Id id, CallerPlace place);
  void DropIfIdle(uint32_t account);

  IoLoop& loop_;
  const Ask ask_;
  const std::function<void()> late_;
  ConnectionLimits limits_;
  bool closed_ = false;
  Id last_id_ = 0;
  uint64_t last_asked_ = 0;
  std::map<Id, Waiting> waiting_;
  std::map<uint32_t, Account> accounts_;  // with anything waiting or asked
  std::list<uint32_t> turns_;             // accounts with connections in line, each once; the next one first
  std::map<uint64_t, int64_t> owed_;      // unanswered: when each was asked; the oldest first
};

}  // namespace kprof
