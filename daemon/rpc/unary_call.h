// How a unary handler answers later: from a worker, or from the io loop.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>

#include "daemon/base/worker_pool.h"
#include "daemon/rpc/status_map.h"
#include "storage/base/status.h"

namespace kprof {

// Runs `work` on a worker and finishes the call with what it returns.
inline void FinishOnWorker(WorkerPool& pool, grpc::ServerUnaryReactor* reactor, std::function<Status()> work) {
  Status submitted = pool.Submit([reactor, work = std::move(work)] { reactor->Finish(ToGrpc(work())); });
  if (!submitted.ok()) reactor->Finish(ToGrpc(submitted));
}

}  // namespace kprof
