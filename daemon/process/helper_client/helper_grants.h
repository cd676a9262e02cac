// The root helper's CallerGrants: shows it a connection of the caller's, one with the groups of that which asked. Of a
// remote caller there is none to show: for those the helper has a list of its own. Users have their turns
// (helper_grants.h).
//
// Grants outlive this daemon, and count against their caller's number: what the one before it left is asked for once,
// and let go of.
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

// Whose run is registered next (caller_grants.h): users have their turns, each for a few runs at a time, so that one
// who submits thousands at once waits for themself and for nobody else. What is under way is few enough in all to find
// its place with whoever registers.
//
// No run waits for its turn longer than 10 s: with the time that its registration has then (HelperLink::
// kRegisterLimitNs) whoever submits it hears before they give up, 30 s after they asked, what became of it. It is
// refused then: with what the user's last one failed for, where nobody answered that (kNoDaemon, kTimedOut); else with
// kQueueFull. How many may come at all is bounded before (queue_room.h).
//
// Io loop only. The loop must outlive it.
class GrantQueue {
 public:
  static constexpr size_t kMostUnderWay = 128;
  static constexpr size_t kMostOfAnAccount = 16;  // of them
  static constexpr int64_t kLimitNs = 10 * kNanosPerSecond;

  using Done = std::function<void(Status)>;
  // Registers it, and says how that went: once, later, at some time for sure.
  using Register = std::function<void(Done answered)>;

  explicit GrantQueue(IoLoop& loop) : loop_(loop) {}

  // `account`: the user whom its caller counts as. `do_register` may be called from inside; `done` never is.
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
    std::optional<Status> silence;  // nobody answered the last one
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
  std::map<uint32_t, Account> accounts_;  // with any of these
  std::list<uint32_t> turns_;             // accounts of which one could be begun, each once; the next one first
};

// Has the root helper end what a run left, as often as it takes: a helper that is gone may be restarting, and what
// hangs in the kernel dies when it comes out of it.

// Calls `done` once, later, from the loop: ok when nobody is left; after two minutes of trying, with why somebody may
// be. Waits longer after each try, from 0.5 s to 10 s. Io loop only; loop and link must outlive it.
void SweepPatiently(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done);

// And lets go of the run's grant when nobody is left. What could not be ended is not forgotten: without its grant no
// later sweep would reach it. So after `done` was called it goes on, ever more slowly, every ten minutes at last, as
// long as this daemon lives; the next one asks for what it left (helper_grants.h). There are as many of these as runs
// that were started and could not be ended, or not while the helper was away.
void SweepAndForget(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done);

class HelperGrants final : public CallerGrants {
 public:
  // The newest connection but for `before` and later ones that this uid has open with exactly these groups.
  using ConnectionOf =
      std::function<CallerConnection(uint32_t uid, const std::vector<uint32_t>& groups, uint64_t before)>;

  HelperGrants(IoLoop& loop, HelperLink& link, ConnectionOf connection_of)
      : loop_(loop), link_(link), connection_of_(std::move(connection_of)), line_(loop) {}

  void Register(const std::string& run_id, const Asker& asker, const std::string& digest,
                std::function<void(Status)> done) override;
  void Forget(const std::string& run_id) override;

  // Has the helper forget, and end where they were started, all runs but those that are open and those that were
  // registered through this object. Patient: a helper that is not there is asked again. Call it once.
  using IsOpen = std::function<bool(const std::string& run_id)>;
  void ForgetOthers(IsOpen is_open);

 private:
  // One of several processes of a user may hang up while the helper looks at its connection: then an older one is
  // shown, which whoever asks has among them.
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
  // Registered by this daemon, while the others are not all known.
  std::optional<std::set<std::string>> own_{std::in_place};
  IoLoop::Timer ask_again_;
};

}  // namespace kprof
