// One gRPC server without ports per caller: connections are handed to the server of whoever connected, so a handler's
// caller is fixed by construction and no client can speak for another. Health and reflection are services as the
// others are. Who is calling is decided before (access_policy.h, certificate_identity.h). A server that nobody uses
// goes after a while.
//
// A caller whose place was not found in time (container_check_queue.h) would be nowhere as long as the connection
// lasts. So each of these connections is told after a while to take no more calls (GOAWAY): those that are under way go
// on, and for the next one its client connects anew, by itself, and is looked at anew.
//
// Whoever is turned away is served, too, for a moment, by one server for each reason, whoever it is: it answers each
// call with the reason, so that a client can say why. When that one is crowded, the connection is closed without a
// word. So those who have no business here take no place from those who have.
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

// What gRPC may buffer for callers, all together, shared out among their accounts: a quota for each, which is one
// user's with all that count as that user, or one certificate's. gRPC takes in the whole of a message before it finds
// it too long; over its quota it ends that account's streams, and nobody else's.
//
// The sum stays below what systemd lets the daemon have (MemoryHigh in deploy/kprofd.service) with answers that nobody
// has read beside it (CallTotals). Io loop only; the quotas are gRPC's and may outlive it.
class CallerBuffers {
 public:
  static constexpr int64_t kAllBytes = int64_t{800} << 20;
  static constexpr int64_t kMostBytes = int64_t{128} << 20;  // of one account, however few there are
  static constexpr int64_t kLeastBytes = int64_t{3} << 20;   // the longest command is 2 MiB
  // Those who are turned away have an account between them.
  static_assert(kAllBytes / (ConnectionLimits::kMostCallers + 1) >= kLeastBytes);

  // Each of so many accounts.
  static int64_t ShareOf(int64_t accounts);

  // The quota of that account, from which its servers' memory is taken; the shares of all are what they now are.
  const grpc::ResourceQuota& QuotaOf(const std::shared_ptr<CallerAccount>& account);

  int64_t accounts() const { return static_cast<int64_t>(quotas_.size()); }

 private:
  struct Share {
    std::weak_ptr<CallerAccount> account;
    std::unique_ptr<grpc::ResourceQuota> quota;
  };
  std::map<const CallerAccount*, Share> quotas_;  // of accounts that live, and of some that have gone meanwhile
};

class CallerServers {
 public:
  // Once per process, before the first server.
  static void PrepareProcess();

  // `parts` must outlive it; `observer` too, it may be null. Fails when the system has no descriptors left.
  static Result<std::unique_ptr<CallerServers>> Create(const ServiceContext& context, const ConnectionLimits& limits,
                                                       CallObserver* observer);
  ~CallerServers();

  // Hands a connected socket over; turns it away over a limit.
  void Serve(const Caller& caller, UniqueFd connection);

  // Answers every call on it with `why`, which says nothing of who it is, and ends it soon.
  void TurnAway(const Caller& caller, const Status& why, UniqueFd connection);

  // Ends the connections, and the calls on them, of callers that are no longer who they were. Their clients come back
  // and are looked at anew.
  void EndServers(const std::function<bool(const Caller&)>& is_outdated);
  // Of those that stay, and of those to come.
  void SetLimits(const ConnectionLimits& limits);

  // The newest open local connection of that user with exactly these groups (as Caller has them) that is older than
  // `before`, for whoever must see for himself who it is. Only of those who are on this machine: who is in a container
  // asks for nothing outside, so no other connection of the user's is to be shown for it. Also of a server that is
  // about to end: its calls have their time.
  CallerConnection DuplicateConnection(uid_t uid, const std::vector<uint32_t>& groups, uint64_t before) const;

  int64_t connections() const { return connections_; }
  int64_t turned_away() const { return turned_away_; }  // since the start
  size_t servers() const { return servers_.size(); }

  // Health says NOT_SERVING from here on.
  void AnnounceEnd();

  // Ends all calls and connections, after up to `grace_ms` for the calls; calls that come in that time are told to come
  // again. Clients hear UNAVAILABLE, never that gRPC cancelled what they had asked. Not from the io loop, which answers
  // them. What calls left on the loop and the pools is still to run, and uses the parts. REQUIRES: no Serve from here
  // on.
  void Shutdown(int64_t grace_ms);

 private:
  struct Server;
  // Of those who are turned away the caller is nobody, and there is a reason.
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
  std::shared_ptr<CallerAccount> nobody_;  // of all who are turned away; with their desks. None before the first
  std::map<Key, std::unique_ptr<Server>> servers_;
  std::set<std::shared_ptr<Server>> ending_;  // whose calls have their time; shared with the look that comes next
  int64_t connections_ = 0;
  int64_t being_refused_ = 0;  // of them
  int64_t turned_away_ = 0;
  IoLoop::Timer evict_timer_;  // pending while there are servers
  IoLoop::Timer trim_timer_;   // runs out when nobody has connected for a while
  bool announced_end_ = false;
  std::atomic<int> endings_left_{0};
  // Takes servers down: no call needs its threads to end. There are never more jobs than servers.
  WorkerPool endings_{{.threads = 2, .queue_limit_jobs = 10'000'000}};
};

}  // namespace kprof
