// A Status as it travels: the canonical code, the message, and the ErrorDetail in grpc-status-details-bin.
#pragma once

#include <grpcpp/support/status.h>

#include "storage/base/status.h"

namespace kprof {

grpc::Status ToGrpc(const Status& status);

}  // namespace kprof
