// Spawns one kprof-launch, with a socket to it that has the command's output files in it. Knows neither what is said
// over the socket (launch_protocol.h) nor what becomes of the process (child_supervisor.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/process/launchers/launcher.h"
#include "daemon/process/worker/own_children.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

// kprof-launch as it was when the daemon started. The file is held open and it is the descriptor that is executed: a
// build or an upgrade that puts another file into its place changes nothing for a daemon that lives.
struct SupervisorProgram {
  std::string path;  // for messages, and the process's name
  UniqueFd fd;       // O_PATH
};

// Fails with kUsage when there is no program.
Result<SupervisorProgram> OpenSupervisorProgram(const std::string& path);

struct SpawnedSupervisor {
  UniqueFd channel;
  pid_t pid = -1;
  uint64_t start_ticks = 0;  // it, and all that it starts, started then or later
};

// Its environment is ours with `marks` ("NAME=value") set in it: they make it findable as its command is. The new child
// is entered in `own`; whoever reaps it removes it there. Fails with kSpawnFailed. Costs one vfork and
// exec, about 0.5 ms.
Result<SpawnedSupervisor> SpawnSupervisor(const SupervisorProgram& program, const std::vector<std::string>& marks,
                                          const OutputFiles& files, OwnChildren& own);

}  // namespace kprof
