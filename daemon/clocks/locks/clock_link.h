// The clocks of one NVIDIA device, held by a keeper process (kprof-clocks): has it lock and release them, one wish
// after the other. A keeper that dies or hangs is replaced; the next one gives back what it held, or locks it again if
// that is still wanted. Clocks that cannot be given back are tried again for as long as this lives.
//
// Io loop only. Never blocks. `loop`, and what the settings name, must outlive it. Its destructor lets go of its
// keeper, which gives back by itself what is held.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/clocks/keeper/keeper_protocol.h"
#include "daemon/process/worker/worker_channel.h"
#include "storage/base/status.h"

namespace kprof {

class ClockLink {
 public:
  struct Settings {
    std::string program;  // kprof-clocks
    std::string library;  // of NVML; empty: the usual one
    std::string folder;   // of clock_notes.h
    std::string boot_id;
    int64_t call_limit_ns = 5 * kNanosPerSecond;
    OwnChildren* own = nullptr;
    HelperLink* helper = nullptr;  // starts the keepers where this process lacks the right: all above but call_limit_ns
                                   // is then its own affair
  };
  // Called from the loop.
  struct Events {
    // The clocks are not held any more. Either they are locked again after a while, or given_up follows.
    std::function<void(const Status&)> lost;
    std::function<void(const Status&)> given_up;
  };
  using Locked = std::function<void(Result<KeeperLocked>)>;
  using Released = std::function<void(Status)>;

  ClockLink(IoLoop& loop, Settings settings, std::string uuid, Events events);
  ~ClockLink();
  ClockLink(const ClockLink&) = delete;
  ClockLink& operator=(const ClockLink&) = delete;

  // Locks the clocks; an existing hold is changed into this one. `locked` is called once, from the loop, never from
  // inside. Fails as the keeper says, kTimedOut when the driver hangs; then nothing is held, or it is being given back.
  void Lock(KeeperLock request, Locked locked);

  // `released` is called when the device is as it was before, or when that could not be done at once and is tried
  // again.
  void Release(Released released);
  // The same for clocks that a kprofd before may have left held. A keeper is asked in any case.
  void GiveBackLeft();

  const std::optional<KeeperLocked>& held() const { return held_; }
  // Why something could not be given back yet; ok: nothing is left.
  const Status& trouble() const { return trouble_; }

 private:
  struct Wish {
    std::optional<KeeperLock> lock;  // nothing: release
    Locked locked;
    Released released;
  };

  void Add(Wish wish);
  void SendNext();
  void WaitForTheOneBefore();
  Status StartKeeper();
  bool IsLockUnderWay() const { return asked_ && wishes_.front().lock.has_value(); }
  void OnPacket(const std::string& bytes);
  void OnOver(const Status& why);
  void OnReaped();
  void Finish(const KeeperMessage& answer);
  void FinishLock(Wish wish, const KeeperMessage& answer);
  void FinishRelease(const Wish& wish, const KeeperMessage& answer);
  void LockAgain(const Status& why);
  void ReleaseLater(const Status& why);
  void RestLater();

  IoLoop& loop_;
  const Settings settings_;
  const std::string uuid_;
  const Events events_;
  std::shared_ptr<WorkerChannel> keeper_;  // its handlers keep it as well; null: none that is of use
  bool reaped_ = true;                     // nothing is left of the keeper before
  std::deque<Wish> wishes_;                // the first is under way when asked_
  bool asked_ = false;
  uint32_t tag_ = 0;
  std::optional<KeeperLock> wanted_;  // the wish behind held_
  std::optional<KeeperLocked> held_;
  bool may_hold_ = false;  // a keeper had a wish to lock, and none has said since that all is given back
  Status trouble_;
  int failures_ = 0;  // since all was last given back
  IoLoop::Timer kick_;
  IoLoop::Timer again_;
  IoLoop::Timer rest_;
  IoLoop::Timer stuck_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // one that hangs may be reaped when it is gone
};

}  // namespace kprof
