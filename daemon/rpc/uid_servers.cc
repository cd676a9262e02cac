#include "daemon/rpc/uid_servers.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_posix.h>
#include <malloc.h>

#include <chrono>

#include "daemon/base/log.h"
#include "daemon/rpc/node_service.h"
#include "daemon/rpc/queries_service.h"
#include "daemon/rpc/runs_service.h"

namespace kprof {
namespace {

// A command line with its environment, and some; streams send 256 KiB at a time.
constexpr int kMaxMessageBytes = 8 << 20;
constexpr int kMaxConcurrentStreams = 256;
// gRPC's hand-over has no handshake timeout: this is what ends a silent connection. Clients reconnect by themselves.
constexpr int kMaxConnectionIdleMs = 300'000;

constexpr int64_t kQuietMs = 10'000;

constexpr const char* kServices[] = {"kprof.v1.NodeService", "kprof.v1.RunsService", "kprof.v1.QueriesService"};

}  // namespace

// Order matters: the server is destroyed before its services.
struct UidServers::Server {
  Server(const RpcParts& parts, const Caller& caller)
      : node(parts, caller), runs(parts, caller), queries(parts, caller) {}

  void SetServing(bool serving) {
    grpc::HealthCheckServiceInterface* health = server->GetHealthCheckService();
    if (health == nullptr) return;
    health->SetServingStatus(serving);
    for (const char* service : kServices) health->SetServingStatus(service, serving);
  }

  NodeServiceImpl node;
  RunsServiceImpl runs;
  QueriesServiceImpl queries;
  std::unique_ptr<grpc::Server> server;
};

void UidServers::PrepareProcess() {
  // Kept for good: the last server's end would otherwise shut the library down, and wait up to 10 s for a poller of its
  // own that lives for writes that met a slow client.
  grpc_init();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
}

UidServers::UidServers(const RpcParts& parts) : parts_(parts) {}
UidServers::~UidServers() = default;

void UidServers::Serve(const Caller& caller, UniqueFd connection) {
  KPROF_ON_IO_LOOP(parts_.loop);
  std::unique_ptr<Server>& entry = servers_[caller.uid];
  if (!entry) {
    entry = std::make_unique<Server>(parts_, caller);
    grpc::ServerBuilder builder;
    builder.RegisterService(&entry->node);
    builder.RegisterService(&entry->runs);
    builder.RegisterService(&entry->queries);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxConnectionIdleMs);
    entry->server = builder.BuildAndStart();
    if (!entry->server) {
      LogError("no server for a caller", {{"uid", std::to_string(caller.uid)}});
      servers_.erase(caller.uid);
      return;
    }
    entry->SetServing(true);
  }
  grpc::AddInsecureChannelFromFd(entry->server.get(), connection.Release());
  // What a burst of calls took and gave back stays with malloc until it is told to let go.
  trim_timer_ =
      parts_.loop.After(kQuietMs * kNanosPerMilli, [this] { (void)parts_.bulk.Submit([] { (void)malloc_trim(0); }); });
}

void UidServers::AnnounceEnd() {
  KPROF_ON_IO_LOOP(parts_.loop);
  for (auto& [uid, entry] : servers_) entry->SetServing(false);
}

void UidServers::Shutdown(int64_t deadline_ms) {
  auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms);
  for (auto& [uid, entry] : servers_) entry->server->Shutdown(deadline);
  for (auto& [uid, entry] : servers_) entry->server->Wait();
}

}  // namespace kprof
