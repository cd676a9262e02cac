#include "daemon/rpc/caller_servers.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/rpc/services/analyses_service.h"
#include "daemon/rpc/services/health_service.h"
#include "daemon/rpc/services/node_service.h"
#include "daemon/rpc/services/queries_service.h"
#include "daemon/rpc/services/reflection_service.h"
#include "daemon/rpc/services/runs_service.h"
#include "daemon/rpc/services/sessions_service.h"
#include "storage/base/descriptors.h"

namespace kprof {

int64_t CallerBuffers::ShareOf(int64_t accounts) {
  return std::min(kMostBytes, kAllBytes / std::max<int64_t>(accounts, 1));
}

const grpc::ResourceQuota& CallerBuffers::QuotaOf(const std::shared_ptr<CallerAccount>& account) {
  std::erase_if(quotas_, [](const auto& entry) { return entry.second.account.expired(); });
  Share& own = quotas_[account.get()];
  if (!own.quota) own = {account, std::make_unique<grpc::ResourceQuota>("caller")};
  const int64_t share = ShareOf(accounts());
  for (auto& [of, each] : quotas_) each.quota->Resize(static_cast<size_t>(share));
  return *own.quota;
}

namespace {

// A command line with its environment, and some; streams send 256 KiB at a time.
constexpr int kMaxMessageBytes = 8 << 20;
constexpr int kMaxConcurrentStreams = 256;
// gRPC's hand-over has no handshake timeout: this is what ends a silent connection. Clients reconnect by themselves.
constexpr int kMaxConnectionIdleMs = 300'000;
// Of those who are turned away: time to be told.
constexpr int kRefusedIdleMs = 2'000;
constexpr int kRefusedAgeMs = 10'000;
constexpr int kRefusedAgeGraceMs = 2000;

constexpr int64_t kQuietMs = 10'000;
constexpr int64_t kTakeDownMs = 1'000;
constexpr int64_t kTakeDownLookNs = 2 * kNanosPerMilli;
constexpr int64_t kHangUpNs = 1'000 * kNanosPerMilli;

bool IsSameAccount(const Caller& a, const Caller& b) {
  return a.account() == b.account() && a.certificate == b.certificate;
}

}  // namespace

// Order matters: the server is destroyed before its services.
struct CallerServers::Server {
  Server(const ServiceContext& context, ServingState& serving, std::shared_ptr<CallAdmission> at)
      : admission(std::move(at)),
        node(context, admission),
        runs(context, admission),
        queries(context, admission),
        analyses(context, admission),
        sessions(context, admission),
        health(context.loop, serving, admission),
        reflection(admission),
        older_reflection(admission) {}

  // All services are asynchronous: a server has no threads of its own, so callers take none.
  // `unknown_place_ms`: as in ConnectionLimits.
  bool Start(bool refuses, const grpc::ResourceQuota& quota, int64_t unknown_place_ms) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&node);
    builder.RegisterService(&runs);
    builder.RegisterService(&queries);
    builder.RegisterService(&analyses);
    builder.RegisterService(&sessions);
    builder.RegisterService(&health);
    builder.RegisterService(&reflection);
    builder.RegisterService(&older_reflection);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetResourceQuota(quota);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, refuses ? kRefusedIdleMs : kMaxConnectionIdleMs);
    if (refuses) {
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kRefusedAgeMs);
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kRefusedAgeGraceMs);
    } else if (admission->caller().place == CallerPlace::kUnknown) {
      // Without an end to the grace: calls that are under way are not hurt.
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, static_cast<int>(unknown_place_ms));
    }
    server = builder.BuildAndStart();
    return server != nullptr;
  }

  bool is_idle() const { return connections.empty() && admission->calls_in_flight() == 0; }

  const std::shared_ptr<CallAdmission> admission;  // shared with the calls
  NodeServiceImpl node;
  RunsServiceImpl runs;
  QueriesServiceImpl queries;
  AnalysisServiceImpl analyses;
  SessionsServiceImpl sessions;
  HealthServiceImpl health;
  ReflectionServiceImpl<ReflectionV1> reflection;
  ReflectionServiceImpl<ReflectionV1Alpha> older_reflection;
  std::unique_ptr<grpc::Server> server;
  std::set<HangUpWatch::Id> connections;
  int64_t last_used_ns = 0;  // when a connection last came or went

  // While it is taken down.
  int64_t calls_until_ns = 0;
  int64_t hang_ups_until_ns = 0;  // 0: the connections are still read
  IoLoop::Timer look_again;
};

void CallerServers::PrepareProcess() {
  // Kept for good: the last server's end would otherwise shut the library down, and wait up to 10 s for a poller of its
  // own that lives for writes that met a slow client.
  grpc_init();
}

Result<std::unique_ptr<CallerServers>> CallerServers::Create(const ServiceContext& context,
                                                             const ConnectionLimits& limits, CallObserver* observer) {
  ASSIGN_OR_RETURN(std::unique_ptr<HangUpWatch> watch, HangUpWatch::Create(context.loop));
  return std::unique_ptr<CallerServers>(new CallerServers(context, limits, observer, std::move(watch)));
}

CallerServers::CallerServers(const ServiceContext& context, const ConnectionLimits& limits, CallObserver* observer,
                             std::unique_ptr<HangUpWatch> watch)
    : context_(context), limits_(limits), observer_(observer), watch_(std::move(watch)) {}
CallerServers::~CallerServers() = default;

// What there is of a user with all that count as that user, or of a certificate.
struct CallerServers::Account {
  std::shared_ptr<CallerAccount> account;  // none: nobody of it is here
  int64_t callers = 0;
  int64_t connections = 0;
};

CallerServers::Account CallerServers::AccountOf(const Caller& caller) const {
  Account account;
  for (const auto& [key, server] : servers_) {
    if (!key.second.empty() || !IsSameAccount(key.first, caller)) continue;
    account.account = server->admission->account();
    ++account.callers;
    account.connections += static_cast<int64_t>(server->connections.size());
  }
  return account;
}

int64_t CallerServers::callers() const {
  return std::count_if(servers_.begin(), servers_.end(), [](const auto& entry) { return entry.first.second.empty(); });
}

void CallerServers::Serve(const Caller& caller, UniqueFd connection) {
  KPROF_ON_IO_LOOP(context_.loop);
  auto turn_away = [&](const Status& why) { TurnAway(caller, why, std::move(connection)); };
  if (caller.role == Role::kNone) {
    const std::string whose = caller.certificate.empty() ? "your user" : "your certificate";
    return turn_away(Fail(ErrorCode::kNotPermitted, "connect", whose + " has no role on this node",
                          "ask an admin of this node for one ([access] and [[certificate]] in kprofd.toml)"));
  }
  if (connections_ - being_refused_ >= limits_.connections) {
    return turn_away(Fail(ErrorCode::kQueueFull, "connect",
                          "kprofd has " + std::to_string(limits_.connections) + " connections open, its limit",
                          "try again later"));
  }
  Account account = AccountOf(caller);
  if (account.connections >= limits_.connections_per_account) {
    return turn_away(Fail(
        ErrorCode::kQueueFull, "connect",
        "one user may have " + std::to_string(limits_.connections_per_account) + " connections open at a time, and has",
        "close some, or send more calls over each"));
  }
  const Key key{caller, {}};
  auto found = servers_.find(key);
  Server* server = found == servers_.end() ? nullptr : found->second.get();
  if (server == nullptr) {
    auto of_account = [&](const Caller& other) { return IsSameAccount(other, caller); };
    if (account.callers >= limits_.callers_per_account && !EvictIdlest(of_account)) {
      return turn_away(
          Fail(ErrorCode::kQueueFull, "connect",
               "one user may be connected with " + std::to_string(limits_.callers_per_account) +
                   " different sets of groups, subordinate uids, places and certificates at a time, and is",
               "close some connections"));
    }
    if (callers() >= limits_.callers && !EvictIdlest([](const Caller&) { return true; })) {
      return turn_away(Fail(ErrorCode::kQueueFull, "connect",
                            "kprofd serves " + std::to_string(limits_.callers) + " different callers, its limit",
                            "try again later"));
    }
    if (!account.account) account.account = MakeAccount(caller);
    server = Make(key, std::move(account.account), OkStatus());
    if (server == nullptr) return;
  }
  HandOver(key, *server, std::move(connection));
  // What a burst of calls took and gave back stays with malloc until it is told to let go.
  trim_timer_ = context_.loop.After(kQuietMs * kNanosPerMilli,
                                    [this] { (void)context_.bulk.Submit([] { (void)malloc_trim(0); }); });
}

void CallerServers::TurnAway(const Caller& caller, const Status& why, UniqueFd connection) {
  ++turned_away_;
  if (observer_ != nullptr) observer_->ConnectionRefused(caller, why);
  const Key key{Caller(), why.ToString()};
  auto found = servers_.find(key);
  if (found == servers_.end() && !nobody_) nobody_ = MakeAccount(Caller());
  Server* server = found == servers_.end() ? nullptr : found->second.get();
  if (server == nullptr) {
    // Of each reason the first one, however many follow; the audit has the others.
    LogWarning("turns somebody away", {{"caller", CallerName(caller)}, {"error", why.ToString()}});
    server = Make(key, nobody_, why);
  }
  if (server == nullptr || static_cast<int64_t>(server->connections.size()) >= limits_.turned_away) return;
  HandOver(key, *server, std::move(connection));
}

std::shared_ptr<CallerAccount> CallerServers::MakeAccount(const Caller& caller) const {
  const std::string name = caller.counts_as ? "uid " + std::to_string(*caller.counts_as) : CallerName(caller);
  return std::make_shared<CallerAccount>(context_.clock, name, limits_.calls, context_.limits.calls);
}

CallerServers::Server* CallerServers::Make(const Key& key, std::shared_ptr<CallerAccount> account,
                                           const Status& refusal) {
  const grpc::ResourceQuota& quota = buffers_.QuotaOf(account);
  auto admission = std::make_shared<CallAdmission>(context_.clock, key.first, std::move(account), refusal, observer_);
  auto server = std::make_unique<Server>(context_, serving_, std::move(admission));
  if (!server->Start(!refusal.ok(), quota, limits_.unknown_place_ms)) {
    LogError("no server for a caller", {{"caller", CallerName(key.first)}});
    return nullptr;
  }
  server->last_used_ns = context_.clock.mono_ns();
  if (!evict_timer_.pending()) EvictIdle();
  return (servers_[key] = std::move(server)).get();
}

void CallerServers::HandOver(const Key& key, Server& server, UniqueFd connection) {
  UniqueFd duplicate(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!duplicate.valid()) return LogWarning("closed a connection: no descriptor is left");
  auto id = std::make_shared<HangUpWatch::Id>(0);  // shared with what is called when it is known
  Result<HangUpWatch::Id> watched = watch_->Add(std::move(duplicate), [this, key, id] { OnConnectionEnded(key, *id); });
  if (!watched.ok()) return LogWarning("closed a connection", {{"error", watched.status().ToString()}});
  *id = *watched;
  server.connections.insert(*id);
  server.last_used_ns = context_.clock.mono_ns();
  ++connections_;
  if (!key.second.empty()) ++being_refused_;
  if (observer_ != nullptr) observer_->ConnectionOpened();
  grpc::AddInsecureChannelFromFd(server.server.get(), connection.Release());
}

void CallerServers::OnConnectionEnded(const Key& key, HangUpWatch::Id id) {
  --connections_;
  if (!key.second.empty()) --being_refused_;
  if (observer_ != nullptr) observer_->ConnectionEnded();
  auto found = servers_.find(key);
  if (found == servers_.end() || found->second->connections.erase(id) == 0) return;
  found->second->last_used_ns = context_.clock.mono_ns();
}

// First its calls end, then its connections, then the server: gRPC's own way would answer what comes meanwhile with
// CANCELLED, by which a client cannot know that it was not heard.
void CallerServers::TakeDown(std::unique_ptr<Server> server, int64_t grace_ms) {
  std::shared_ptr<Server> ending = std::move(server);  // shared: std::function copies
  endings_left_.fetch_add(1);
  ending->admission->Close();
  ending_.insert(ending);
  ending->calls_until_ns = context_.clock.mono_ns() + grace_ms * kNanosPerMilli;
  GoOnTakingDown(ending);
}

void CallerServers::GoOnTakingDown(const std::shared_ptr<Server>& server) {
  const int64_t now_ns = context_.clock.mono_ns();
  auto look_again = [&] {
    server->look_again = context_.loop.After(kTakeDownLookNs, [this, server] { GoOnTakingDown(server); });
  };
  if (server->admission->calls_in_flight() > 0 && now_ns < server->calls_until_ns) return look_again();
  if (server->hang_ups_until_ns == 0) {
    server->hang_ups_until_ns = now_ns + kHangUpNs;
    for (HangUpWatch::Id id : server->connections) watch_->EndReading(id);
  }
  const bool connected = std::any_of(server->connections.begin(), server->connections.end(),
                                     [this](HangUpWatch::Id id) { return watch_->Find(id) >= 0; });
  if (connected && now_ns < server->hang_ups_until_ns) return look_again();
  server->look_again = IoLoop::Timer();
  ending_.erase(server);
  // It has threads to join: not on the loop, nor on a pool that calls need.
  Status submitted = endings_.Submit([this, server] {
    server->server->Shutdown(std::chrono::system_clock::now());
    server->server->Wait();
    server->server.reset();
    endings_left_.fetch_sub(1);
  });
  KPROF_CHECK(submitted.ok());
}

void CallerServers::TakeAllDown(const std::function<bool(const Key&, const Server&)>& goes, int64_t grace_ms) {
  for (auto it = servers_.begin(); it != servers_.end();) {
    if (!goes(it->first, *it->second)) {
      ++it;
      continue;
    }
    TakeDown(std::move(it->second), grace_ms);
    it = servers_.erase(it);
  }
}

// Never one of those that turn away: there are few, and they take nobody's place.
bool CallerServers::EvictIdlest(const std::function<bool(const Caller&)>& may_go) {
  auto idlest = servers_.end();
  for (auto it = servers_.begin(); it != servers_.end(); ++it) {
    if (!it->first.second.empty() || !it->second->is_idle() || !may_go(it->first.first)) continue;
    if (idlest == servers_.end() || it->second->last_used_ns < idlest->second->last_used_ns) idlest = it;
  }
  if (idlest == servers_.end()) return false;
  TakeDown(std::move(idlest->second), kTakeDownMs);
  servers_.erase(idlest);
  return true;
}

void CallerServers::EvictIdle() {
  const int64_t before_ns = context_.clock.mono_ns() - limits_.idle_ms * kNanosPerMilli;
  TakeAllDown([&](const Key&, const Server& server) { return server.is_idle() && server.last_used_ns <= before_ns; },
              kTakeDownMs);
  evict_timer_ = context_.loop.After(limits_.idle_ms / 4 * kNanosPerMilli, [this] {
    evict_timer_ = IoLoop::Timer();
    if (!servers_.empty()) EvictIdle();
  });
}

void CallerServers::EndServers(const std::function<bool(const Caller&)>& is_outdated) {
  KPROF_ON_IO_LOOP(context_.loop);
  if (announced_end_) return;
  TakeAllDown([&](const Key& key, const Server&) { return key.second.empty() && is_outdated(key.first); }, kTakeDownMs);
}

void CallerServers::SetLimits(const ConnectionLimits& limits) {
  KPROF_ON_IO_LOOP(context_.loop);
  limits_ = limits;
  for (auto& [key, server] : servers_) server->admission->account()->SetLimits(limits.calls);
}

CallerConnection CallerServers::DuplicateConnection(uid_t uid, const std::vector<uint32_t>& groups,
                                                    uint64_t before) const {
  KPROF_ON_IO_LOOP(context_.loop);
  CallerConnection newest;
  auto look_at = [&](const Server& server) {
    const Caller& caller = server.admission->caller();
    if (caller.uid != uid || caller.groups != groups || !caller.certificate.empty()) return;
    if (caller.place != CallerPlace::kHere) return;
    for (auto id = std::make_reverse_iterator(server.connections.lower_bound(before));
         id != server.connections.rend() && *id > newest.id; ++id) {
      UniqueFd copy(::fcntl(watch_->Find(*id), F_DUPFD_CLOEXEC, 0));
      if (copy.valid() && IsConnected(copy.get())) newest = {*id, std::move(copy)};
    }
  };
  for (const auto& [key, server] : servers_) look_at(*server);
  for (const auto& server : ending_) look_at(*server);
  return newest;
}

void CallerServers::AnnounceEnd() {
  KPROF_ON_IO_LOOP(context_.loop);
  announced_end_ = true;
  serving_.End();
}

void CallerServers::Shutdown(int64_t grace_ms) {
  std::promise<void> begun;
  context_.loop.Post([&] {
    evict_timer_ = IoLoop::Timer();
    TakeAllDown([](const Key&, const Server&) { return true; }, grace_ms);
    begun.set_value();
  });
  begun.get_future().wait();
  // While the loop still turns, which their calls need to end.
  while (endings_left_.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace kprof
