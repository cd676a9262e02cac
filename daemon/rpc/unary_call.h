// A unary call that is answered when its handler has returned: with what a worker made of it, or with a run.
//
// Owns itself; End is called exactly once, from any thread, and nothing of the call, its request and its response may
// be touched after it. The stop token fires when the client is gone.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "daemon/base/worker_pool.h"
#include "daemon/rpc/call_record.h"
#include "daemon/rpc/hand_over.h"
#include "daemon/rpc/run_message.h"
#include "storage/base/status.h"

namespace kprof {

class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  // Ends it at once when the desk refuses; then `refused`, and there is nothing left to do but to return it.
  UnaryCall(std::shared_ptr<CallerDesk> desk, Rpc rpc) : record_(std::move(desk), rpc) {
    refused_ = !record_.admission().ok();
    if (refused_) End(record_.admission());
  }

  bool refused() const { return refused_; }
  std::stop_token stop() const { return stop_.get_token(); }

  void End(const Status& status) {
    grpc::Status ending = record_.Ending(status);
    to_grpc_.Give();
    Finish(std::move(ending));
  }

  // With that run in `out`, a part of the response, or with why there is none.
  void EndWith(const Result<RunRow>& row, v1::Run* out) {
    if (row.ok()) FillRun(*row, *out);
    End(row.status());
  }

  // With what `work` returns, on a worker; at once, with kQueueFull, when the pool takes no more.
  void EndOnWorker(WorkerPool& pool, std::function<Status()> work) {
    Status submitted = pool.Submit([this, work = std::move(work)] { End(work()); });
    if (!submitted.ok()) End(submitted);
  }

 private:
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override {
    to_grpc_.Take();
    delete this;
  }

  CallRecord record_;
  bool refused_ = false;
  std::stop_source stop_;
  HandOver to_grpc_;
};

}  // namespace kprof
