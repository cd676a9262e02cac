// What waits for somebody who may start nothing any more: queued runs and sessions end when the settings take that
// right away, also while the daemon was down: no role any more, no rule for a certificate, or just that certificate
// revoked. Runs that have begun by themselves go on: an operator cancels them. So does what came with a certificate
// that has merely expired since: it was good when it was used.
//
// A user's groups are asked of the system, as no connection tells them here; that somebody came with a certificate, and
// with which, is in the audit of the submission. What is ended is there, too. A directory of users that is away takes
// nobody's right: what it would have told is asked again.
//
// Io loop only; what may block is done elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/access/access_policy.h"
#include "daemon/access/certificate_identity.h"
#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/runs.h"
#include "storage/catalog/catalog.h"

namespace kprof {

// Who may start what.
struct StartRights {
  AccessPolicy access;
  std::vector<CertificateRule> certificates;
  // Of a certificate (CertificateId), on any thread; none: nobody here takes certificates back.
  std::function<bool(const std::string& certificate_id)> is_revoked;
};

// Why it may not start anything any more; empty: it may. `groups`: all of the user's.
std::string WhyRevoked(const StartRights& rights, const Actor& who, const std::vector<gid_t>& groups);

class RevokedAccess {
 public:
  // All groups of that user's account; only of its own number where there is none. Fails where the directory of users
  // cannot say whether it is in one of `asked`. May block. Owns all that it uses.
  using GroupsOf = std::function<Result<std::vector<gid_t>>(uid_t uid, const std::vector<gid_t>& asked)>;
  static Result<std::vector<gid_t>> GroupsOfAccount(uid_t uid, const std::vector<gid_t>& asked);

  static constexpr int64_t kLimitNs = 10 * kNanosPerSecond;     // of the directory, where somebody waits
  static constexpr int64_t kAskAgainNs = 60 * kNanosPerSecond;  // what it could not say
  static constexpr int64_t kReadAgainNs = kNanosPerSecond;      // what the catalog could not

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

  // Looks up who may no longer start what waits; then calls `known`, and in the same turn ends that, before any of it
  // can start. Only those whose right comes by a group wait for the directory: what it cannot say stays, for now, and
  // so does what it does not say within kLimitNs; the log tells.
  void Enforce(StartRights rights, std::function<void()> known = nullptr);

 private:
  // By the ids of runs and sessions: who asked for them.
  using Waiting = std::map<std::string, Actor>;
  using Groups = std::map<uid_t, Result<std::vector<gid_t>>>;
  Waiting FindWaiting() const;
  bool GroupsCanHelp(const Actor& who) const;
  void Judge(const Waiting& waiting);
  void AskDirectory();
  void OnGroups(const Groups& groups, Status failed = OkStatus());
  void OnLate();
  void Settle();    // all is known
  void Conclude();  // from what is
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
  StartRights rights_;                        // the last that were to be enforced
  std::vector<std::function<void()>> known_;  // who waits
  std::map<std::string, Found> ends_;         // to be ended when those have been told
  Waiting undecided_;                         // the directory has to say
  bool judging_ = false;                      // rights_ are newer than what is known of who waits
  bool asking_ = false;
  bool ask_again_ = false;  // others are undecided since
  IoLoop::Timer limit_;
  IoLoop::Timer again_;
};

}  // namespace kprof
