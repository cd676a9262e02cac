// Starts kprof-launch as a caller, under a guard (supervisor_guard.h), in one of two ways: as a transient service
// of systemd, with nothing of ours; or, where systemd does not run, as a child of the helper that becomes the caller.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/helper/grant_store.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Programs by their paths.
struct StartPrograms {
  std::string launch;                      // kprof-launch
  int launch_file = -1;                    // it, O_PATH: what is executed where we do that ourselves; -1: by its path
  std::optional<std::string> systemd_run;  // nothing: every run is a child of the helper
  std::string systemctl = "/usr/bin/systemctl";
};

// systemd is this machine's init.
bool SystemdRuns();

// "kprof-run-<id>.service"
std::string UnitOf(const std::string& run_id);

// What systemd-run is called with. The unit lives in its user's slice, so that what an administrator allows a user
// holds for it, and gets the caller's groups besides those of its account.
std::vector<std::string> SystemdRunArguments(const Grant& grant, const StartPrograms& programs);

// A child on its way to its program: kprof-launch's guard, or the systemd-run that waits for the unit. A caller can
// stop it on that way, and a directory of users that hangs; so nobody waits here.
struct StartingSupervisor {
  pid_t pid = -1;
  UniqueFd report;  // readable once it got there, or did not
  // What systemd-run says, 4 KiB at most, whoever writes there; none: it is not systemd-run.
  UniqueFd complaint;
};
// `control` becomes the supervisor's channel. `check`: whether it may still start; asked in the child, before anything
// else, because it may hang. Fails with kSpawnFailed.
Result<StartingSupervisor> StartSupervisor(const Grant& grant, const StartPrograms& programs,
                                           std::function<Status()> check, UniqueFd control);

// REQUIRES: `report` is readable. What `check` said; kSpawnFailed with the step that failed.
Status ReadStartReport(int report, const std::string& run_id);

// Text of whoever wrote there, valid UTF-8 and no more than that.
std::string ReadComplaint(int complaint);

}  // namespace kprof
