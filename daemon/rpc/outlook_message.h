// Where somebody stands who waits, as each message that says so has it: `queue_position` and `estimated_wait_ms`.
#pragma once

#include "daemon/base/clock.h"
#include "daemon/runs/lease_queue.h"

namespace kprof {

template <typename Message>
void FillOutlook(const LeaseQueue::Outlook& outlook, Message& out) {
  out.set_queue_position(outlook.position);
  if (outlook.position > 0 && outlook.wait_ns) out.set_estimated_wait_ms(*outlook.wait_ns / kNanosPerMilli);
}

}  // namespace kprof
