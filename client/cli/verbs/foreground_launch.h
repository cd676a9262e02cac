// Starts kprof-launch for a capture that this kprofctl follows: so the command stays where its caller is, in the same
// cgroup, namespaces, container, job allocation and limits. What it supervises, kprof-launch ends by itself when the
// daemon closes the channel; its keeper ends what a killed kprof-launch leaves.
//
// What comes over the channel is kprofd's, and need not be what was asked for here: so kprof-launch is given the sum of
// that, and starts nothing else. A kprofd that was taken over runs nothing of its own as whoever captures here.
#pragma once

#include <optional>
#include <string>

#include "kprof/v1/runs.pb.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof::cli {

// Where kprof-launch is: beside this program, else in ../libexec/kprof, else what KPROF_LAUNCH names. kSpawnFailed.
Result<std::string> FindSupervisor(const std::string& own_folder, const std::optional<std::string>& named);

// The folder of this program.
std::string OwnFolder();

// The sum (launch_digest.h) of what is asked for.
std::string DigestOf(const v1::RunSpec& spec);

// What the supervisor is told, and from whom it hears.
struct ForegroundLaunch {
  std::string run_id;
  std::string digest;
  UniqueFd channel;
};

// Any thread. Costs one vfork and exec. The child is reaped by whoever comes after us, or by init.
Status StartSupervisor(const std::string& program, ForegroundLaunch launch);

}  // namespace kprof::cli
