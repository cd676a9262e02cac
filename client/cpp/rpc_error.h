// Makes a Status of a failed call: from the ErrorDetail that the daemon attached, if this build understands it, else
// from the canonical gRPC code. Knows no gRPC types, so that its table of cases is cheap to test.
#pragma once

#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {

// The outcome of a call that did not end with OK.
struct RpcFailure {
  int grpc_code = 0;    // grpc::StatusCode, not 0
  std::string message;  // gRPC's own words
  std::string details;  // the trailer grpc-status-details-bin: a serialized kprof.v1.RpcStatus, or empty
};

// `what` is the client's name for the act; the daemon's own, if it sent one, wins. A failure of the connection and a
// daemon that does not answer in time become kNoDaemon.
Status StatusOfRpc(const RpcFailure& failure, const std::string& what);

// True if the daemon itself reported the failure, not the connection: then nothing was done.
bool IsDaemonsOwn(const RpcFailure& failure);

// For UNIMPLEMENTED: says whether daemon or client is too old, and what to do. `daemon_version` empty: not known.
Status VersionMismatch(const std::string& what, std::string_view daemon_version, std::string_view client_version);

}  // namespace kprof
