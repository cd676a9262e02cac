// One connection to a daemon, and what can be asked over it. It is not made anew when it breaks.
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
  // As KprofClient::Connect and ConnectToNode fail.
  static Result<std::shared_ptr<Connection>> Open(const std::string& socket_path);
  static Result<std::shared_ptr<Connection>> OpenToNode(const NodeAddress& address);

  // Of a socket that is connected, and what is behind it.
  Connection(UniqueFd socket, std::unique_ptr<TlsTunnel> tunnel);

  // The other side has ended it: nothing that is asked over it is heard.
  bool hung_up() const;

  const UniqueFd copy;                      // of the socket, which is gRPC's
  const std::unique_ptr<TlsTunnel> tunnel;  // to another node; ends after the channel
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::NodeService::Stub> node;
  const std::unique_ptr<v1::RunsService::Stub> runs;
  const std::unique_ptr<v1::QueriesService::Stub> queries;
  const std::unique_ptr<v1::AnalysisService::Stub> analyses;
  const std::unique_ptr<v1::SessionsService::Stub> sessions;
};

}  // namespace kprof
