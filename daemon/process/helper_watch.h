// Whether the root helper is there, for people: nobody notices that it is not until a detached capture fails. Asks for
// its state at the start, every minute, and sooner while it does not answer; says in the log when that changes, and in
// the metrics kprof_helper_up and kprof_helper_grants.
//
// Io loop only. Loop, link and metrics must outlive it.
#pragma once

#include <optional>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/process/helper_link.h"
#include "daemon/process/helper_protocol.h"
#include "storage/base/status.h"

namespace kprof {

class HelperWatch {
 public:
  // Adds its metrics: before anybody reads them. Any thread.
  HelperWatch(IoLoop& loop, HelperLink& link, Metrics& metrics);

  // Call it once.
  void Begin() { Ask(); }

  // What was heard last: a minute old at most, or what stood in the way; nothing before the first answer.
  const std::optional<Result<HelperState>>& last() const { return last_; }

 private:
  void Ask();
  void Hear(Result<HelperState> state);

  IoLoop& loop_;
  HelperLink& link_;
  Gauge& up_;
  Gauge& grants_;
  std::optional<Result<HelperState>> last_;
  IoLoop::Timer again_;
};

}  // namespace kprof
