// The work of the root helper for kprofd, request by request. It decides each by what the helper itself knows: its
// grants, and the connection that comes with the request. helper_server.h carries the requests.
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

  // The answer, the job that will have it, or the Lookup that must come first. `files`: as many as FilesOf says. Before
  // a Forget the caller withdraws the lookups for that run.
  using Outcome = std::variant<JobAnswer, HelperJob, Lookup>;
  Outcome Answer(const HelperMessage& request, std::vector<UniqueFd> files);

  // A child of this process has ended and is reaped. Returns the run whose processes must be swept because of it, if
  // any.
  std::optional<std::string> OnChildEnd(pid_t pid, int wait_status);

  // Ends the processes that a run left, and no others.
  Outcome Sweep(const std::string& run_id);

 private:
  struct Supervisor {
    std::string run_id;
    bool executed = false;  // before that it is a process of the helper's, and no sweep would find it
    UniqueFd complaint;
  };

  Outcome Register(const HelperRegister& request, int connection);
  Outcome RegisterRemote(const HelperRegisterRemote& request);
  // The lookup that has `find` find the caller, in a process of its own, and then grants what is `asked`. The caller's
  // uid is known before.
  Lookup LookupOf(Grant asked, std::function<Result<CallerIdentity>()> find);
  HelperMessage AddGrant(Grant asked, const JobFinding& finding);
  Outcome Start(const HelperStart& request, UniqueFd control);
  // Whether the grant still holds, except for CheckCallerUid's part; asks the directory of users.
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
