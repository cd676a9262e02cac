// The process that started the ranks of a job on this node (torchrun's agent, srun's step): the nearest ancestor of a
// rank whose environment is not a rank's. All ranks of one launch on a node find the same one, whatever scripts lie
// between, and its start tells one launch from the next.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "client/cli/verbs/rank_command.h"

namespace kprof::cli {

struct RankLauncher {
  std::string started;  // "20261128T205012.34" (UTC), to 10 ms; empty: it cannot be seen
  // True: it gave this rank other values of NEURON_RT_VISIBLE_CORES than it has itself. Nothing: its environment may
  // not be read.
  std::optional<bool> gave_cores;
};

// `proc`: "/proc"; `parent`: of the rank; `read`: the rank's own variables. Reads files alone; never fails.
RankLauncher FindLauncher(const std::string& proc, pid_t parent, const ReadVariable& read);

}  // namespace kprof::cli
