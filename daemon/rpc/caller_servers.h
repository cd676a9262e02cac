// Runs a gRPC server without ports for each caller, and hands each connection to its caller's: so a handler's caller is
// fixed by construction, and no client can speak for another. Health and reflection are services as the others are. The
// caller is known before (user_roles.h, certificate_identity.h). A server without connections goes after a while.
//
// Io loop only, but for Shutdown; made and destroyed while the loop stands.
#pragma once

#include <grpcpp/resource_quota.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/access/call_admission.h"
#include "daemon/access/caller.h"
#include "daemon/net/hang_up_watch.h"
#include "daemon/process/helper_client/caller_grants.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/services/health_service.h"
#include "storage/base/descriptors.h"

namespace kprof {

// Shares out among accounts the memory that gRPC may buffer for all callers: one quota for each account, of one user
// with all that count as that user, or of one certificate. gRPC takes in the whole of a message before it finds it too
// long; over its quota it ends that account's streams, and nobody else's.
//
// The sum stays below what systemd lets the daemon have (MemoryHigh in deploy/kprofd.service), with the answers that no
// client has read beside it (CallTotals). Io loop only; the quotas are gRPC's and may outlive it.
class CallerBuffers {
 public:
  static constexpr int64_t kAllBytes = int64_t{800} << 20;
  static constexpr int64_t kMostBytes = int64_t{128} << 20;  // of one account, however few there are
  static constexpr int64_t kLeastBytes = int64_t{3} << 20;   // the longest command is 2 MiB
  // All refused callers share one account.
  static_assert(kAllBytes / (ConnectionLimits::kMostCallers + 1) >= kLeastBytes);

  // The share of each, when there are so many accounts.
  static int64_t ShareOf(int64_t accounts);

  // The quota of that account, for the memory of its servers. Resizes the quotas of all to their new share.
  const grpc::ResourceQuota& QuotaOf(const std::shared_ptr<CallerAccount>& account);

  int64_t accounts() const { return static_cast<int64_t>(quotas_.size()); }

 private:
  struct Share {
    std::weak_ptr<CallerAccount> account;
    std::unique_ptr<grpc::ResourceQuota> quota;
  };
  std::map<const CallerAccount*, Share> quotas_;  // of accounts that live, and of some that have gone meanwhile
};

// The servers, by caller. A caller whose place was not found in time (container_check_queue.h) would have none as long
// as the connection lasts. So such a connection is told after a while to take no more calls (GOAWAY). Calls that are
// under way go on; for the next one its client connects anew, by itself, and the place is asked for again.
//
// A refused connection is served, too, for a moment, so that its client can say why: one server for each reason,
// whoever the caller is, answers each call with the reason. Its places are few, and no served caller's: when they are
// taken, a refused connection is closed without a word.
class CallerServers {
 public:
  // Once per process, before the first server.
  static void PrepareProcess();

  // The context must outlive it; so must `observer`, which may be null. Fails when the system has no descriptors left.
  static Result<std::unique_ptr<CallerServers>> Create(const ServiceContext& context, const ConnectionLimits& limits,
                                                       CallObserver* observer);
  ~CallerServers();

  // Hands a connected socket over; turns it away over a limit.
  void Serve(const Caller& caller, UniqueFd connection);

  // Answers every call on it with `why`, which says nothing of the caller, and ends the connection soon.
  void TurnAway(const Caller& caller, const Status& why, UniqueFd connection);

  // Ends the connections of outdated callers, and the calls on them. Their clients connect again, as the callers that
  // they are now.
  void EndServers(const std::function<bool(const Caller&)>& is_outdated);
  // Sets the limits of the servers that are there, and of later ones.
  void SetLimits(const ConnectionLimits& limits);

  // The newest open local connection of that user, with exactly these groups (as Caller has them), that is older than
  // `before`. The helper verifies the peer on it. Only callers on this machine count: one in a container asks for
  // nothing outside, so no other connection of the user's may be shown for it. Servers that are about to end count,
  // too: their calls have their time.
  CallerConnection DuplicateConnection(uid_t uid, const std::vector<uint32_t>& groups, uint64_t before) const;

  int64_t connections() const { return connections_; }
  int64_t turned_away() const { return turned_away_; }  // since the start
  size_t servers() const { return servers_.size(); }

  // Health says NOT_SERVING from here on.
  void AnnounceEnd();

  // Ends all calls and connections, after up to `grace_ms` for the calls; calls that come in that time are told to come
  // again. Clients get UNAVAILABLE, never CANCELLED from gRPC for a call of theirs. Not from the io loop, which answers
  // the calls. Tasks that calls left on the loop and the pools still run afterwards, and use the context. REQUIRES: no
  // Serve from here on.
  void Shutdown(int64_t grace_ms);

 private:
  struct Server;
  // The caller, and why it is refused. Refused callers are all Caller(); the reason is empty for the others.
  using Key = std::pair<Caller, std::string>;
  struct Account;

  CallerServers(const ServiceContext& context, const ConnectionLimits& limits, CallObserver* observer,
                std::unique_ptr<HangUpWatch> watch);
  Account AccountOf(const Caller& caller) const;
  int64_t callers() const;
  std::shared_ptr<CallerAccount> MakeAccount(const Caller& caller) const;
  Server* Make(const Key& key, std::shared_ptr<CallerAccount> account, const Status& refusal);
  void HandOver(const Key& key, Server& server, UniqueFd connection);
  void OnConnectionEnded(const Key& key, HangUpWatch::Id id);
  void TakeDown(std::unique_ptr<Server> server, int64_t grace_ms);
  void GoOnTakingDown(const std::shared_ptr<Server>& server);
  void TakeAllDown(const std::function<bool(const Key&, const Server&)>& goes, int64_t grace_ms);
  bool EvictIdlest(const std::function<bool(const Caller&)>& may_go);
  void EvictIdle();

  const ServiceContext& context_;
  ConnectionLimits limits_;
  CallObserver* const observer_;
  const std::unique_ptr<HangUpWatch> watch_;
  ServingState serving_;  // outlives the servers, whose calls watch it
  CallerBuffers buffers_;
  std::shared_ptr<CallerAccount> nobody_;  // of all refused callers; none before the first
  std::map<Key, std::unique_ptr<Server>> servers_;
  std::set<std::shared_ptr<Server>> ending_;  // their calls have their time; shared with the next look
  int64_t connections_ = 0;
  int64_t being_refused_ = 0;  // refused ones among them
  int64_t turned_away_ = 0;
  IoLoop::Timer evict_timer_;  // pending while there are servers
  IoLoop::Timer trim_timer_;   // runs out when nobody has connected for a while
  bool announced_end_ = false;
  std::atomic<int> endings_left_{0};
  // Takes servers down: no call needs its threads to end. There are never more jobs than servers.
  WorkerPool endings_{{.threads = 2, .queue_limit_jobs = 10'000'000}};
};

}  // namespace kprof
