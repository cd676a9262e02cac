// Finds out where the caller of each new connection is (caller_place.h), before the connection is served: what a
// handler knows of its caller never changes. The answer comes from somebody else, the root helper as a rule; meanwhile
// nothing is read from the connection, and it keeps no other user's waiting: users are asked for in turn, each for a
// few connections at a time. One that hangs up meanwhile goes without a word.
//
// No connection waits longer than 2 s: its caller's place is unknown then, and it is to be made anew soon
// (caller_servers.h). While an answer has been owed for that long nobody is asked for and nobody waits.
//
// Io loop only. The loop must outlive it, and it whatever answers.
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
  // Called once, with what was found out; a failure: nobody can say.
  using Answered = std::function<void(Result<CallerPlace>)>;
  // Gets a duplicate of the connection. Answers from the loop, never from inside, and at some time for sure.
  using Ask = std::function<void(UniqueFd duplicate, Answered answered)>;
  // The place, and the connection again; kQueueFull: too many of this user's wait, or of all.
  using Found = std::function<void(Result<CallerPlace>, UniqueFd connection)>;

  static constexpr size_t kMostAsked = 64;
  static constexpr size_t kMostAskedPerAccount = 8;
  static constexpr int64_t kLimitNs = 2 * kNanosPerSecond;

  // `late`, which may be empty, is told each time that a connection has waited for too long.
  ContainerCheckQueue(IoLoop& loop, const ConnectionLimits& limits, Ask ask, std::function<void()> late);

  // `account`: the user whom its caller counts as. `found` may be called from inside.
  void Find(uint32_t account, UniqueFd connection, Found found);

  void SetLimits(const ConnectionLimits& limits);

  // From here on nobody waits: the place of those who do, and of whoever still comes, is unknown.
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
    std::set<Id> in_line;  // of those that wait, for whom nobody was asked yet
    size_t asked = 0;      // and not answered, also when nobody waits for it any more
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
  std::map<uint32_t, Account> accounts_;  // with any of these
  std::list<uint32_t> turns_;             // accounts with somebody in line, each once; the next one first
  std::map<uint64_t, int64_t> owed_;      // when that was asked which is not answered yet; the oldest first
};

}  // namespace kprof
