// The life of a keeper process: gives back what was left, answers (keeper_protocol.h) for as long as its owner is
// there, gives back what is held, ends. A thing that cannot be given back is tried again, ever more slowly. Knows
// nothing of the thing that is kept (KeptThing).
//
// One thread, that of a process of its own; blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/clocks/keeper/keeper_protocol.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Something of the node that is changed for a while, and noted on the disk before it is.
class KeptThing {
 public:
  virtual ~KeptThing() = default;
  // Gives back what is noted, whoever noted it; a note of an earlier boot is removed. Ok when nothing is noted. Fails
  // where something could not be given back; its note stays, and it can be tried again.
  virtual Status GiveBack() = 0;
  // Answers any request but KeeperRelease. If the answer is a failure, nothing is held, or GiveBack is still to be
  // called.
  virtual KeeperMessage Hold(const KeeperMessage& request) = 0;
  // Closes handles that are of no use after this failure.
  virtual void CloseAfter(const Status& failed) = 0;
  // The time at which the hold is given back in any case. Absent: it has no such time, or nothing is held.
  virtual std::optional<int64_t> until_mono_ns() const { return std::nullopt; }
};

class KeeperLife {
 public:
  // `thing` must outlive it.
  KeeperLife(KeptThing& thing, UniqueFd channel, UniqueFd signals)
      : thing_(thing), channel_(std::move(channel)), signals_(std::move(signals)) {}

  // Runs until the owner is gone, or a signal asks for the end. Fails where something stays held.
  Status Run();

 private:
  bool Receive();
  KeeperMessage Answer(const KeeperMessage& request);
  void GiveBackWhenDue();
  int WaitMs() const;
  Status GiveBackBeforeEnd();

  const RealClock clock_;
  KeptThing& thing_;
  const UniqueFd channel_;
  const UniqueFd signals_;
  Status leftover_;  // why the remains are not given back yet
  int tries_ = 0;
  int64_t again_ns_ = 0;
};

// Blocks the signals that ask this process to end, and returns a descriptor for them. So the hold can be given back
// before the process ends.
Result<UniqueFd> BlockEndSignals();

}  // namespace kprof
