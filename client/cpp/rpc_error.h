// How a failed call becomes a Status: the ErrorDetail that the daemon attached where there is one that this build
// understands, else the canonical gRPC code. Knows no gRPC types, so that its table of cases is cheap to test.
#pragma once

#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {

// What a call that did not end with OK left behind.
struct RpcFailure {
  int grpc_code = 0;    // grpc::StatusCode, not 0
  std::string message;  // gRPC's own words
  std::string details;  // the trailer grpc-status-details-bin: a serialized kprof.v1.RpcStatus, or empty
};

// `what` is the client's name for the act; the daemon's own, if it sent one, wins. A failure of the connection and a
// daemon that does not answer in time become kNoDaemon.
Status StatusOfRpc(const RpcFailure& failure, const std::string& what);

// Whether the daemon itself said so, and not the connection: then nothing was done.
bool IsDaemonsOwn(const RpcFailure& failure);

// For UNIMPLEMENTED: which of the two is too old, and what to do. `daemon_version` may be empty: not known.
Status VersionMismatch(const std::string& what, std::string_view daemon_version, std::string_view client_version);

}  // namespace kprof
