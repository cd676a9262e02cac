// Whether the root helper is there, for people: nobody notices that it is not until a detached capture fails. Asks for
// its state at the start, every minute, sooner while it does not answer, and at once when somebody else got no answer
// or wants to know; says in the log when that changes, and in the metrics kprof_helper_up and kprof_helper_grants.
//
// A helper that has not answered within 2 s counts as one that does not answer, until it does. So the link should be
// one over which nothing goes that takes the helper long.
//
// Io loop only; never blocks. Loop, link and metrics must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/process/helper_client/helper_link.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/status.h"

namespace kprof {

class HelperWatch {
 public:
  // Its state, or what stood in the way.
  using Heard = std::function<void(const Result<HelperState>&)>;

  static constexpr int64_t kLimitNs = 2 * kNanosPerSecond;

  // Adds its metrics: before anybody reads them. Any thread.
  HelperWatch(IoLoop& loop, HelperLink& link, Metrics& metrics);

  // Call it once.
  void Begin() { Ask(); }

  // Asks now, unless that was done and is not answered yet. `heard` is called once, from the loop, after kLimitNs at
  // the latest.
  void Find(Heard heard);

  // Somebody else has asked the helper something and got no answer.
  void Doubt();

 private:
  void Ask();
  void Hear(Result<HelperState> state);

  IoLoop& loop_;
  HelperLink& link_;
  Gauge& up_;
  Gauge& grants_;
  std::optional<bool> is_up_;  // as it was heard last; nothing before
  uint64_t asked_ = 0;         // so many questions
  std::vector<Heard> waiting_;
  IoLoop::Timer limit_;  // pending while the last question is not answered
  IoLoop::Timer again_;
};

}  // namespace kprof
