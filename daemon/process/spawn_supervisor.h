// Spawns one kprof-launch, with a socket to it that has the command's output files in it. Knows neither what is said
// over the socket (launch_protocol.h) nor what becomes of the process (supervisor.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "daemon/process/launcher.h"
#include "daemon/process/own_children.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

struct SpawnedSupervisor {
  UniqueFd channel;
  pid_t pid = -1;
  uint64_t start_ticks = 0;  // it, and all that it starts, started then or later
};

// `program` is the path of kprof-launch. The new child is entered in `own`; whoever reaps it removes it there. Fails
// with kSpawnFailed. Costs one vfork and exec, about 0.5 ms.
Result<SpawnedSupervisor> SpawnSupervisor(const std::string& program, const OutputFiles& files, OwnChildren& own);

}  // namespace kprof
