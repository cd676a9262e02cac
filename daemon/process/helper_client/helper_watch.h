// Watches whether the root helper is there and tells people: otherwise nobody notices that it is away until a detached
// capture fails. Asks for its state at the start, every minute, more often while it does not answer, and at once when
// somebody else got no answer or wants to know. Tells changes in the log, and the state in the metrics kprof_helper_up
// and kprof_helper_grants.
//
// A helper that has not answered within 2 s counts as away until it answers. So its link should carry no request that
// takes the helper long.
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
  // The helper's state, or why it is not known.
  using Heard = std::function<void(const Result<HelperState>&)>;

  static constexpr int64_t kLimitNs = 2 * kNanosPerSecond;

  // Adds its metrics, so make it before anybody reads them. Any thread.
  HelperWatch(IoLoop& loop, HelperLink& link, Metrics& metrics);

  // Call it once.
  void Begin() { Ask(); }

  // Asks now, unless a question is under way. `heard` is called once, from the loop, after kLimitNs at the latest.
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
  std::optional<bool> is_up_;  // as heard last; absent before
  uint64_t asked_ = 0;         // so many questions
  std::vector<Heard> waiting_;
  IoLoop::Timer limit_;  // pending while the last question is not answered
  IoLoop::Timer again_;
};

}  // namespace kprof
