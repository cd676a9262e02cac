// Ends queued runs and sessions of a caller who may start nothing any more, because the settings take that right away,
// also while the daemon was down: no role any more, no rule for the certificate, or just that certificate revoked. Runs
// that have begun by themselves go on: an operator cancels them. An expired certificate ends nothing: it was good when
// it was used.
//
// No connection tells a user's groups here, so the system is asked. The audit of a submission tells whether its caller
// came with a certificate, and with which. Ends are noted there, too. A directory of users that does not answer takes
// nobody's right: it is asked again.
//
// Io loop only; blocking work is done on other threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/access/certificate_identity.h"
#include "daemon/access/user_roles.h"
#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/runs.h"
#include "storage/catalog/catalog.h"

namespace kprof {

// The rights to start something: local users by `access`, remote callers by `certificates`.
struct StartRights {
  UserRoles access;
  std::vector<CertificateRule> certificates;
  // True for a revoked certificate (CertificateId). Any thread. None: nobody here takes certificates back.
  std::function<bool(const std::string& certificate_id)> is_revoked;
};

// Why `who` may not start anything any more; empty: it may. `groups`: all of the user's.
std::string WhyRevoked(const StartRights& rights, const Actor& who, const std::vector<gid_t>& groups);

class RevokedAccess {
 public:
  // All groups of that user's account; without an account, the group of the same number. Fails if the directory of
  // users cannot say whether the user is in one of `asked`. May block. Owns all that it uses.
  using GroupsOf = std::function<Result<std::vector<gid_t>>(uid_t uid, const std::vector<gid_t>& asked)>;
  static Result<std::vector<gid_t>> GroupsOfAccount(uid_t uid, const std::vector<gid_t>& asked);

  static constexpr int64_t kLimitNs = 10 * kNanosPerSecond;     // for the directory, while `known` waits
  static constexpr int64_t kAskAgainNs = 60 * kNanosPerSecond;  // for what the directory could not say
  static constexpr int64_t kReadAgainNs = kNanosPerSecond;      // for what the catalog could not say

  // Everything is borrowed and outlives this.
  RevokedAccess(IoLoop& loop, WorkerPool& workers, Catalog& catalog, Runs& runs, AuditLog& audit,
                GroupsOf groups_of = GroupsOfAccount)
      : loop_(loop),
        workers_(workers),
        catalog_(catalog),
        runs_(runs),
        audit_(audit),
        groups_of_(std::move(groups_of)),
        directory_(loop) {}

  // Looks up which queued runs and sessions may no longer be started. Then calls `known`, and in the same turn ends
  // them, before any of them can start. Only runs and sessions whose right comes by a group wait for the directory:
  // where it cannot say, or says nothing within kLimitNs, they stay for now; the log tells.
  void Enforce(StartRights rights, std::function<void()> known = nullptr);

 private:
  // Callers by the ids of the runs and sessions that they asked for.
  using Waiting = std::map<std::string, Actor>;
  using Groups = std::map<uid_t, Result<std::vector<gid_t>>>;
  Waiting FindWaiting() const;
  bool GroupsCanHelp(const Actor& who) const;
  void Judge(const Waiting& waiting);
  void AskDirectory();
  void OnGroups(const Groups& groups, Status failed = OkStatus());
  void OnLate();
  void Settle();    // when all is known
  void Conclude();  // with what is known
  void End(const std::string& id, const Actor& of, const std::string& why);

  struct Found {
    Actor who;
    std::string why;
  };

  IoLoop& loop_;
  WorkerPool& workers_;
  Catalog& catalog_;
  Runs& runs_;
  AuditLog& audit_;
  const GroupsOf groups_of_;
  DetachedWork directory_;
  StartRights rights_;                        // the last that Enforce got
  std::vector<std::function<void()>> known_;  // those that wait
  std::map<std::string, Found> ends_;         // to be ended once those are called
  Waiting undecided_;                         // the directory has to say
  bool judging_ = false;                      // rights_ are newer than the look at what waits
  bool asking_ = false;
  bool ask_again_ = false;  // others are undecided since
  IoLoop::Timer limit_;
  IoLoop::Timer again_;
};

}  // namespace kprof
