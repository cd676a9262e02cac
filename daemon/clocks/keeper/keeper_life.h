// A keeper's life: gives back what was left, answers (keeper_protocol.h) for as long as somebody is there, gives back
// what is held, ends. What cannot be given back is tried again, ever more slowly. Knows nothing of what is kept.
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
  // Gives back what is noted, by whomever; a note of an earlier boot is removed. Nothing is noted: that was it. Fails
  // where something could not be given back; the note of it stays, and it can be tried again.
  virtual Status GiveBack() = 0;
  // Any request but to release. When this answers with a failure nothing is held, or GiveBack is still to be called.
  virtual KeeperMessage Hold(const KeeperMessage& request) = 0;
  // Lets go of what is of no use any more after that.
  virtual void CloseAfter(const Status& failed) = 0;
  // When what is held is given back whatever is asked. Absent: it has no such time, or nothing is held.
  virtual std::optional<int64_t> until_mono_ns() const { return std::nullopt; }
};

class KeeperLife {
 public:
  // `thing` must outlive it.
  KeeperLife(KeptThing& thing, UniqueFd channel, UniqueFd signals)
      : thing_(thing), channel_(std::move(channel)), signals_(std::move(signals)) {}

  // Until whoever asks is gone, or a signal asks for the end. Fails where something stays held.
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
  Status leftover_;  // why what was left is not given back yet
  int tries_ = 0;
  int64_t again_ns_ = 0;
};

// What a signal asks for the end by, which is not at once: first what is held is given back. Of the process.
Result<UniqueFd> BlockEndSignals();

}  // namespace kprof
