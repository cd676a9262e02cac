// One connection to a daemon, with a stub for each of its services. A broken connection is not remade here.
//
// Any thread, also several at once.
#pragma once

#include <memory>
#include <string>

#include "client/cpp/node_address.h"
#include "client/cpp/tls_tunnel.h"
#include "kprof/v1/analyses.grpc.pb.h"
#include "kprof/v1/node.grpc.pb.h"
#include "kprof/v1/queries.grpc.pb.h"
#include "kprof/v1/runs.grpc.pb.h"
#include "kprof/v1/sessions.grpc.pb.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

struct Connection {
  // Fail as KprofClient::Connect and ConnectToNode do.
  static Result<std::shared_ptr<Connection>> Open(const std::string& socket_path);
  static Result<std::shared_ptr<Connection>> OpenToNode(const NodeAddress& address);

  // `socket` is connected. `tunnel` carries it to another node; null for a daemon on this one.
  Connection(UniqueFd socket, std::unique_ptr<TlsTunnel> tunnel);

  // True: the other side has closed it, so no request over it is heard.
  bool hung_up() const;

  const UniqueFd copy;                      // of the socket, which gRPC owns
  const std::unique_ptr<TlsTunnel> tunnel;  // to another node; ends after the channel
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::NodeService::Stub> node;
  const std::unique_ptr<v1::RunsService::Stub> runs;
  const std::unique_ptr<v1::QueriesService::Stub> queries;
  const std::unique_ptr<v1::AnalysisService::Stub> analyses;
  const std::unique_ptr<v1::SessionsService::Stub> sessions;
};

}  // namespace kprof
