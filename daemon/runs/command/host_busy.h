// Whether others used so much of the host's processors while a command ran that its times may not be believed.
#pragma once

#include <optional>

#include "daemon/launch/launch_protocol.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// The reason `host_busy`, when others used, on average over the run, more than a quarter of a CPU and more than 5 % of
// those that the command may use: on a small host any neighbour matters, on a large one there is always somebody. The
// kernel counts in ticks, so it must also be more than 50 ms and 10 ms for each CPU. Nothing for a run that was too
// short to tell.
std::optional<TrustReason> HostBusy(const CommandEnded& command);

}  // namespace kprof
