// A unary call that is answered after its handler has returned: with a worker's result, or with a run. Large answers
// count against the bytes that the caller's clients have not read yet (call_admission.h). An answer without room is
// refused when it is made; a call that changes something is refused before it does.
//
// Owns itself; End is called exactly once, from any thread. Afterwards nothing of the call, its request and its
// response may be touched. The stop token fires when the client is gone.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "daemon/base/worker_pool.h"
#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/streams/call_record.h"
#include "storage/base/status.h"

namespace kprof {

class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  // The size of the answer when the call ends; none: too small to count.
  using AnswerSize = std::function<size_t()>;

  // Ends the call at once when the admission refuses; then it is `refused`, and the handler only returns it.
  UnaryCall(std::shared_ptr<CallAdmission> admission, Rpc rpc, AnswerSize answer_size = nullptr)
      : record_(std::move(admission), rpc), answer_size_(std::move(answer_size)) {
    refused_ = !record_.admitted().ok();
    if (refused_) End(record_.admitted());
  }

  bool refused() const { return refused_; }
  std::stop_token stop() const { return stop_.get_token(); }

  // Call it before something is changed: makes room for an answer of about that size. kQueueFull: end the call with it,
  // and change nothing.
  Status MakeRoom(size_t answer_bytes) {
    RETURN_IF_ERROR(record_.TakeAnswer(answer_bytes));
    has_room_ = true;
    return OkStatus();
  }

  void End(const Status& status) {
    const Status counted = status.ok() ? CountAnswer() : status;
    grpc::Status ending = record_.Ending(counted);
    to_grpc_.Give();
    Finish(std::move(ending));
  }

  // Ends with that run in `out`, a part of the response, or with why there is none.
  void EndWith(const Result<RunRow>& row, v1::Run* out) {
    if (row.ok()) FillRun(*row, *out);
    End(row.status());
  }

  // Ends with what `work` returns, on a worker; at once, with kQueueFull, when the pool takes no more.
  void EndOnWorker(WorkerPool& pool, std::function<Status()> work) {
    Status submitted = pool.Submit([this, work = std::move(work)] { End(work()); });
    if (!submitted.ok()) End(submitted);
  }

 private:
  Status CountAnswer() {
    if (!answer_size_ || has_room_) return OkStatus();
    return record_.TakeAnswer(answer_size_());
  }

  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override {
    to_grpc_.Take();
    delete this;
  }

  CallRecord record_;
  const AnswerSize answer_size_;
  bool has_room_ = false;
  bool refused_ = false;
  std::stop_source stop_;
  TsanHandoff to_grpc_;
};

// The size of that message, or of those bytes, at the time when it is asked.
inline UnaryCall::AnswerSize SizeOf(const google::protobuf::Message* answer) {
  return [answer] { return answer->ByteSizeLong(); };
}
inline UnaryCall::AnswerSize SizeOf(const grpc::ByteBuffer* answer) {
  return [answer] { return answer->Length(); };
}

}  // namespace kprof
