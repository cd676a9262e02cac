// A call of KprofClient that Ctrl-C, a kill or a closed terminal ends, so that the verb can undo what it has begun
// before kprofctl exits. A second signal exits at once (interrupts.h), with nothing undone.
//
// A thread inside watches for the signal; the destructor ends it. One at a time, as of Interrupts.
#pragma once

#include <optional>
#include <stop_token>
#include <thread>

#include "client/cli/waiting/interrupts.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof::cli {

class InterruptibleCall {
 public:
  // With nothing to undo, signals do what they did: `wanted` is false.
  explicit InterruptibleCall(bool wanted);
  ~InterruptibleCall();
  InterruptibleCall(const InterruptibleCall&) = delete;
  InterruptibleCall& operator=(const InterruptibleCall&) = delete;

  // For the call.
  std::stop_token stop() const { return stop_.get_token(); }
  // How it ended: its own answer, or kCancelled where that is due to a signal.
  Status Ended(const Status& answer) const;

 private:
  void Watch();

  // Set once.
  std::optional<Interrupts> interrupts_;
  UniqueFd over_;  // readable: no need to watch any more

  std::stop_source stop_;
  std::thread thread_;  // none unless wanted
};

}  // namespace kprof::cli
