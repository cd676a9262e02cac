// The CallerGrants of the root helper. It shows the helper a connection of the caller, one with the same groups as the
// connection that asked. A remote caller has none to show; the helper has a list of its own for those. Users take turns
// (GrantQueue).
//
// Grants outlive this daemon and count against their caller's limit. So the grants that the daemon before left are
// listed once and let go of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/process/helper_client/caller_grants.h"
#include "daemon/process/helper_client/helper_link.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// The order in which runs are registered. Users take turns, each with a few runs under way at a time, so a user who
// submits thousands at once delays nobody else. The runs under way are few enough in all for HelperLink to have room.
//
// A run waits 10 s at most for its turn. With the time of its registration (HelperLink::kRegisterLimitNs) its submitter
// gets an answer before giving up, 30 s after asking. A run that waits longer is refused: with the failure of the
// user's last one where nobody answered that (kNoDaemon, kTimedOut), else with kQueueFull. queue_room.h bounds how many
// may wait.
//
// Io loop only. The loop must outlive it.
class GrantQueue {
 public:
  static constexpr size_t kMostUnderWay = 128;
  static constexpr size_t kMostOfAnAccount = 16;  // of them
  static constexpr int64_t kLimitNs = 10 * kNanosPerSecond;

  using Done = std::function<void(Status)>;
  // Registers the run and calls `answered`: once, later, in every case.
  using Register = std::function<void(Done answered)>;

  explicit GrantQueue(IoLoop& loop) : loop_(loop) {}

  // `account`: the user to whose share the run counts. `do_register` may be called from inside; `done` never is.
  void Enter(uint32_t account, Register do_register, Done done);

 private:
  using Id = uint64_t;  // in the order of coming
  struct Waiting {
    Register do_register;
    Done done;
    IoLoop::Timer limit;
  };
  struct Account {
    std::map<Id, Waiting> waiting;
    size_t under_way = 0;
    bool has_turn = false;          // is among turns_
    std::optional<Status> silence;  // why nobody answered the last one
  };

  void TakeTurn(uint32_t account);
  void BeginNext();
  void Begin(uint32_t account, Waiting next);
  void OnAnswered(uint32_t account, const Status& status);
  void OnTooLate(uint32_t account, Id id);
  void DropIfIdle(uint32_t account);

  IoLoop& loop_;
  Id last_id_ = 0;
  size_t under_way_ = 0;
  std::map<uint32_t, Account> accounts_;  // those with a run that waits or is under way
  std::list<uint32_t> turns_;             // accounts with a run that may begin, each once; the next one first
};

// Has the root helper end the processes that a run left, and tries again as often as it takes: a helper that is away
// may be restarting, and a process that hangs in the kernel dies when it comes out of it. Waits longer after each try,
// from 0.5 s to 10 s. Calls `done` once, later, from the loop: ok when no process is left; after two minutes of trying,
// why some may be. Io loop only; loop and link must outlive it.
void SweepPatiently(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done);

// The same, and lets go of the run's grant when no process is left. Until then the grant stays: without it no later
// sweep would reach the processes. So it goes on after `done` was called, ever more slowly, every ten minutes at last,
// as long as this daemon lives; the next daemon asks for the grants that are left (ForgetOthers). As many go on as
// there are runs that were started and could not be ended, or not while the helper was away.
void SweepAndForget(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done);

// Io loop only. Loop and link must outlive it.
class HelperGrants final : public CallerGrants {
 public:
  // The newest connection that this uid has open with exactly these groups, among those older than `before`.
  using ConnectionOf =
      std::function<CallerConnection(uint32_t uid, const std::vector<uint32_t>& groups, uint64_t before)>;

  HelperGrants(IoLoop& loop, HelperLink& link, ConnectionOf connection_of)
      : loop_(loop), link_(link), connection_of_(std::move(connection_of)), line_(loop) {}

  void Register(const std::string& run_id, const Asker& asker, const std::string& digest,
                std::function<void(Status)> done) override;
  void Forget(const std::string& run_id) override;

  // Has the helper forget all runs but those that are open and those registered through this object, and end those that
  // were started. Asks again while the helper is away. Call it once.
  using IsOpen = std::function<bool(const std::string& run_id)>;
  void ForgetOthers(IsOpen is_open);

 private:
  // A process of the user may hang up while the helper looks at its connection. Then the next older connection is
  // shown: that of the asker is among them.
  static constexpr int kMostShown = 64;
  using Answered = GrantQueue::Done;
  void RegisterLocal(const std::string& run_id, const Asker& asker, const std::string& digest, Answered answered);
  void Show(const std::string& run_id, const Asker& asker, const std::string& digest, CallerConnection connection,
            int left, Answered answered);
  void RegisterRemote(const std::string& run_id, uint32_t uid, const std::string& digest, const Answered& answered);

  void AskForOthers(const std::string& after);
  void ForgetListed(const HelperGrantList& list);

  IoLoop& loop_;
  HelperLink& link_;
  const ConnectionOf connection_of_;
  GrantQueue line_;
  IsOpen is_open_;
  // Runs registered by this daemon; absent once all others are known.
  std::optional<std::set<std::string>> own_{std::in_place};
  IoLoop::Timer ask_again_;
};

}  // namespace kprof
