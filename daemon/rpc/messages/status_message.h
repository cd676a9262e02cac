// Turns a Status into gRPC's: the canonical code, the message, and the ErrorDetail in grpc-status-details-bin.
//
// Each of what, why and remedy is cut at 600 bytes: gRPC drops longer trailers whole. They become UTF-8, as
// readable_text.h makes it. Any thread.
#pragma once

#include <grpcpp/support/status.h>

#include "storage/base/status.h"

namespace kprof {

grpc::Status ToGrpc(const Status& status);

}  // namespace kprof
