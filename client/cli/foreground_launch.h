// Starts kprof-launch for a capture that this kprofctl follows: so the command stays where its caller is, in the same
// cgroup, namespaces, container, job allocation and limits. What it supervises, kprof-launch ends by itself when the
// daemon closes the channel; its keeper ends what a killed kprof-launch leaves.
#pragma once

#include <optional>
#include <string>

#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof::cli {

// Where kprof-launch is: beside this program, else in ../libexec/kprof, else what KPROF_LAUNCH names. kSpawnFailed.
Result<std::string> FindSupervisor(const std::string& own_folder, const std::optional<std::string>& named);

// The folder of this program.
std::string OwnFolder();

// Any thread. Costs one vfork and exec. The child is reaped by whoever comes after us, or by init.
Status StartSupervisor(const std::string& program, const std::string& run_id, UniqueFd channel);

}  // namespace kprof::cli
