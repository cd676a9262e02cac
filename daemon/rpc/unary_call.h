// How a unary handler answers once it has returned: with what a worker made of it, or with a run.
//
// Any thread. gRPC keeps the reactor, the request and the response until Finish; none of them may be touched after it.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <utility>

#include "daemon/base/worker_pool.h"
#include "daemon/rpc/run_message.h"
#include "daemon/rpc/status_map.h"
#include "storage/base/status.h"

namespace kprof {

// Runs `work` on a worker and finishes the call with what it returns; at once, with kQueueFull, when the pool takes no
// more.
inline void FinishOnWorker(WorkerPool& pool, grpc::ServerUnaryReactor* reactor, std::function<Status()> work) {
  Status submitted = pool.Submit([reactor, work = std::move(work)] { reactor->Finish(ToGrpc(work())); });
  if (!submitted.ok()) reactor->Finish(ToGrpc(submitted));
}

// Finishes the call here and now: with that run in `out`, a part of the response, or with why there is none.
inline void FinishWith(grpc::ServerUnaryReactor* reactor, const Result<RunRow>& row, v1::Run* out) {
  if (row.ok()) FillRun(*row, *out);
  reactor->Finish(ToGrpc(row.status()));
}

}  // namespace kprof
