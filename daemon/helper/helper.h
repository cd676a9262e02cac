// What the root helper does for kprofd, request by request. Each is decided here by what the helper itself knows: its
// grants, and the connection that comes with the request. How requests come and go is helper_server.h.
//
// One thread. Never blocks on anything that a caller, kprofd or the directory of users can hold up: such work becomes a
// HelperJob or a Lookup.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "daemon/helper/caller_identity.h"
#include "daemon/helper/grant_store.h"
#include "daemon/helper/helper_jobs.h"
#include "daemon/helper/start_keeper.h"
#include "daemon/helper/start_supervisor.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"

namespace kprof {

class Helper {
 public:
  struct Settings {
    CallerRules callers;
    std::string remote_users;  // a file; caller_identity.h
    StartPrograms programs;
    KeeperPrograms keepers;
  };
  Helper(const Clock& clock, Files& files, GrantStore& grants, Settings settings)
      : clock_(clock), files_(files), grants_(grants), settings_(std::move(settings)) {}

  // The answer, the job that will have it, or what must be looked up for it first. `files`: as many as FilesOf says.
  // Before a Forget whoever calls withdraws what is looked up for that run.
  using Outcome = std::variant<JobAnswer, HelperJob, Lookup>;
  Outcome Answer(const HelperMessage& request, std::vector<UniqueFd> files);

  // A child of this process has ended; it is reaped. Perhaps the run whose processes are to be swept because of it.
  std::optional<std::string> OnChildEnd(pid_t pid, int wait_status);

  // Ends what a run left: its own processes alone.
  Outcome Sweep(const std::string& run_id);

 private:
  struct Supervisor {
    std::string run_id;
    bool executed = false;  // until then it is a process of the helper's, which a sweep would not find
    UniqueFd complaint;
  };

  Outcome Register(const HelperRegister& request, int connection);
  Outcome RegisterRemote(const HelperRegisterRemote& request);
  // The one to grant what is `asked`, of which the caller's uid is known, to whoever `find` finds, in a process of its
  // own.
  Lookup LookupOf(Grant asked, std::function<Result<CallerIdentity>()> find);
  HelperMessage AddGrant(Grant asked, const JobFinding& finding);
  Outcome Start(const HelperStart& request, UniqueFd control);
  // Whether what was granted still holds, but for what CheckCallerUid says; asks the directory of users.
  Status CheckStillHolds(const Grant& grant) const;
  HelperMessage Started(pid_t pid, const Status& started);
  Outcome OpenFile(const HelperOpenFile& request, int connection);
  HelperMessage WhereIs(int connection) const;
  HelperMessage HoldClocks(const HelperHoldClocks& request, const UniqueFd& channel, const UniqueFd& page);
  HelperMessage ListHeld() const;
  HelperMessage State() const;
  HelperMessage List(const HelperListGrants& request) const;

  const Clock& clock_;
  Files& files_;
  GrantStore& grants_;
  const Settings settings_;
  std::map<pid_t, Supervisor> supervisors_;  // children of ours
  std::set<pid_t> keepers_;                  // the same
};

}  // namespace kprof
