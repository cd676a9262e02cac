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
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>

#include "daemon/base/io_loop.h"
#include "storage/base/status.h"

namespace kprof {

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

}  // namespace kprof
