// Where somebody stands who waits, as each message that says so has it: `queue_position` and `estimated_wait_ms`.
#pragma once

#include "daemon/runs/queue/lease_queue.h"
#include "storage/base/clock.h"

namespace kprof {

template <typename Message>
void FillOutlook(const LeaseQueue::Outlook& outlook, Message& out) {
  out.set_queue_position(outlook.position);
  if (outlook.position > 0 && outlook.wait_ns) out.set_estimated_wait_ms(*outlook.wait_ns / kNanosPerMilli);
}

}  // namespace kprof
