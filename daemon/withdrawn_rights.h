// What waits for somebody who may start nothing any more: queued runs and sessions end when the settings take that
// right away, also while the daemon was down: no role any more, no rule for a certificate, or just that certificate
// revoked. Runs that have begun by themselves go on: an operator cancels them. So does what came with a certificate
// that has merely expired since: it was good when it was used.
//
// A user's groups are asked of the system, as no connection tells them here; that somebody came with a certificate, and
// with which, is in the audit of the submission. What is ended is there, too.
//
// Io loop only; what may block is a worker's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/rpc/access_policy.h"
#include "daemon/rpc/certificate_rules.h"
#include "daemon/runs/audit_log.h"
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

class WithdrawnRights {
 public:
  // All groups of that user's account; only of its own number where there is none. May block; any thread.
  using GroupsOf = std::function<std::vector<gid_t>(uid_t uid)>;
  static std::vector<gid_t> GroupsOfAccount(uid_t uid);

  // Everything is borrowed and outlives this.
  WithdrawnRights(IoLoop& loop, WorkerPool& workers, Catalog& catalog, Runs& runs, AuditLog& audit,
                  GroupsOf groups_of = GroupsOfAccount)
      : loop_(loop),
        workers_(workers),
        catalog_(catalog),
        runs_(runs),
        audit_(audit),
        groups_of_(std::move(groups_of)) {}

  // Looks up who may no longer start what waits; then calls `known`, and in the same turn ends that, before any of it
  // can start. What cannot be looked up stays, and the log says so.
  void Enforce(StartRights rights, std::function<void()> known);

 private:
  // By the ids of runs and sessions: who asked for them.
  using Waiting = std::map<std::string, Actor>;
  Waiting FindWaiting() const;
  void End(const std::string& id, const Actor& of, const std::string& why);

  IoLoop& loop_;
  WorkerPool& workers_;
  Catalog& catalog_;
  Runs& runs_;
  AuditLog& audit_;
  const GroupsOf groups_of_;
};

}  // namespace kprof
