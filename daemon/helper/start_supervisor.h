// Starts kprof-launch as a caller, under a guard (supervisor_guard.h), in one of two ways: as a transient service of
// systemd, which inherits nothing of ours; or, where systemd does not run, as a child of the helper that becomes the
// caller.
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
  int launch_file = -1;                    // it, O_PATH: for a child of the helper; -1: by its path
  std::optional<std::string> systemd_run;  // absent: every run is a child of the helper
  std::string systemctl = "/usr/bin/systemctl";
};

// True if systemd is this machine's init.
bool SystemdRuns();

// "kprof-run-<id>.service"
std::string UnitOf(const std::string& run_id);

// The arguments of systemd-run. The unit lives in its user's slice, so an administrator's limits for that user hold for
// it. It gets the caller's groups besides those of the account.
std::vector<std::string> SystemdRunArguments(const Grant& grant, const StartPrograms& programs);

// A child on its way to its program: kprof-launch's guard, or the systemd-run that waits for the unit. A caller can
// stop it on that way, and a directory of users can hang; so nobody waits here.
struct StartingSupervisor {
  pid_t pid = -1;
  UniqueFd report;  // readable once it got there, or failed to
  // The text of systemd-run, 4 KiB at most; others may write there, too. Invalid: it is not systemd-run.
  UniqueFd complaint;
};
// `control` becomes the supervisor's channel. `check`: whether it may still start; asked in the child, before anything
// else, because it may hang. Fails with kSpawnFailed.
Result<StartingSupervisor> StartSupervisor(const Grant& grant, const StartPrograms& programs,
                                           std::function<Status()> check, UniqueFd control);

// REQUIRES: `report` is readable. Fails as `check` failed, or with kSpawnFailed and the step that failed.
Status ReadStartReport(int report, const std::string& run_id);

// The text that was written there, made valid UTF-8; nothing else of it is checked.
std::string ReadComplaint(int complaint);

}  // namespace kprof
