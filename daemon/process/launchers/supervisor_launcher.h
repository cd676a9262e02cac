// The Launcher whose supervisors are the daemon's own children: one kprof-launch process per command, spoken to over a
// socket (launch_protocol.h). It is spawned, never forked from this many-threaded process, and inherits nothing but the
// socket and standard error.
//
// Building one makes this process a child subreaper, for good. When a supervisor is killed, the processes below it come
// to us, are ended, and are reaped. So children that other rooms start must be entered in own_children().
//
// Io loop only. A launch costs the loop one vfork and exec of a small static program, about 0.5 ms. The loop and the
// pool must outlive it; the pool is joined before the loop goes. Launched objects may outlive it, dead.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/process/launchers/child_supervisor.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/worker/worker_process.h"

namespace kprof {

class AdoptedProcesses;
class ChildSupervisor;

class SupervisorLauncher final : public Launcher {
 public:
  // Every launch executes this one file (child_supervisor.h). Sweeping after a lost supervisor runs in `pool`.
  SupervisorLauncher(IoLoop& loop, WorkerPool& pool, SupervisorProgram program);
  // Closes all channels, as destroying each Launched would; the supervisors end their trees on their own.
  ~SupervisorLauncher() override;

  // Fails with kUsage for a request that makes no sense (CheckLaunchRequest), kSpawnFailed when the supervisor cannot
  // be started.
  Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as, const std::string& marker,
                                           const OutputFiles& files, LaunchEvents events) override;

  // Answers ok: whoever builds this has ended all remains before (runs/recovery.h).
  void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                  std::function<void(Status)> done) override;

  OwnChildren& own_children();

  // Supervisors that have not been reaped yet, also those whose Launched is gone.
  int64_t supervisors() const;

 private:
  IoLoop& loop_;
  const SupervisorProgram program_;
  // Shared with pending handlers of the io loop and jobs of the pool, which outlive us.
  const std::shared_ptr<AdoptedProcesses> adopted_;
  const std::shared_ptr<std::set<ChildSupervisor*>> not_reaped_;
};

}  // namespace kprof
