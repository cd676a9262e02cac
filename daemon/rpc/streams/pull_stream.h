// A server stream that is pulled: the next message is made only when the last one is on its way, so a slow client slows
// its source and nothing piles up. When the client goes, the source's stop token fires.
//
// The source runs on `pool`, one call at a time. A failure of it ends the stream, and so does kQueueFull when the pool
// takes no more. Owns itself; lives until gRPC is done with it and the loop has turned once more. Loop and pool outlive
// it.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/rpc/messages/status_message.h"
#include "daemon/rpc/stream_limits.h"
#include "daemon/rpc/streams/call_record.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

enum class Pulled {
  kMessage,     // there is one, send it
  kNothingYet,  // ask again after a pause, which grows, or when the source wakes the stream
  kEnd,
};

// Makes the messages of one stream. Made on any thread, used on the pool's; destroyed there or, when the pool took no
// more, on the io loop.
template <typename Response>
class PullSource {
 public:
  virtual ~PullSource() = default;
  // Fills `message`, which is empty. Blocking is fine; look at the token. Not called again after kEnd or a failure.
  virtual Result<Pulled> Next(Response& message, std::stop_token stop) = 0;
  // Called before the first Next. The source may call `wake` on the io loop, also when the stream has ended: it ends a
  // pause.
  virtual void WakeBy(std::function<void()> /*wake*/) {}
};

// Each message counts, as a whole chunk, against the bytes that the caller's clients have not taken (call_admission.h).
// Without room for one more the stream waits for about a minute, one that is impatient not at all, and ends with
// kQueueFull.
template <typename Response>
class PullStream final : public grpc::ServerWriteReactor<Response> {
 public:
  static constexpr int64_t kPauseMs = 50;  // the first one after a message; each further one is twice as long
  static constexpr int64_t kLongestPauseMs = 500;
  static constexpr int64_t kUnreadLimitMs = 60'000;
  static constexpr int kMostWaitsForRoom = 120;

  // `impatient`: null, or the call's context, where the source holds something that others need (a read transaction).
  // Then the call is cancelled when the client has not taken a message for kUnreadLimitMs.
  PullStream(CallRecord record, IoLoop& loop, WorkerPool& pool, std::unique_ptr<PullSource<Response>> source,
             grpc::CallbackServerContext* impatient = nullptr)
      : loop_(loop),
        pool_(pool),
        record_(std::move(record)),
        impatient_(impatient),
        is_impatient_(impatient != nullptr),
        source_(std::move(source)) {
    source_->WakeBy([self = self_] {
      if (*self != nullptr) (*self)->Wake();
    });
    if (impatient != nullptr) {
      loop_.Post([this] { CheckIsRead(-1); });
    }
    to_grpc_.Give();
    PullSoon();
  }

  void OnWriteDone(bool ok) override {
    to_grpc_.Take();
    writing_ = false;
    record_.GiveAnswerBack();
    writes_done_.fetch_add(1, std::memory_order_relaxed);
    if (!ok) stop_.request_stop();
    PullSoon();
  }
  void OnCancel() override {
    to_grpc_.Take();
    stop_.request_stop();
    loop_.Post([this] { Wake(); });  // before OnDone, so before the end of this
  }
  // The end is on the loop, as the timer is the loop's.
  void OnDone() override {
    to_grpc_.Take();
    {
      MutexLock lock(context_mu_);
      impatient_ = nullptr;  // gone when this returns
    }
    loop_.Post([this] { delete this; });
  }

 private:
  ~PullStream() override { *self_ = nullptr; }

  void PullSoon() {
    Status submitted = pool_.Submit([this] { Pull(); });
    if (!submitted.ok()) Finish(ToGrpc(submitted));
  }

  void Pull() {
    if (stop_.stop_requested()) return End(grpc::Status::CANCELLED);
    if (Status room = record_.TakeAnswer(StreamLimits::kChunkBytes); !room.ok()) {
      if (is_impatient_ || ++waits_for_room_ == kMostWaitsForRoom) return End(ToGrpc(room));
      return PauseSoon();
    }
    waits_for_room_ = 0;
    message_.Clear();
    Result<Pulled> pulled = source_->Next(message_, stop_.get_token());
    if (!pulled.ok()) return End(ToGrpc(pulled.status()));
    switch (*pulled) {
      case Pulled::kMessage:
        pause_ms_ = kPauseMs;
        writing_ = true;
        to_grpc_.Give();
        return this->StartWrite(&message_);
      case Pulled::kEnd:
        return End(grpc::Status::OK);
      case Pulled::kNothingYet:
        record_.GiveAnswerBack();
        return PauseSoon();
    }
  }

  void PauseSoon() {
    const int64_t pause_ms = std::exchange(pause_ms_, std::min(2 * pause_ms_, kLongestPauseMs));
    loop_.Post([this, pause_ms] { Pause(pause_ms); });
  }

  // Both: io loop. A stream that is woken between two pauses has no second one.
  void Pause(int64_t pause_ms) {
    if (std::exchange(woken_, false)) return PullSoon();
    timer_ = loop_.After(pause_ms * kNanosPerMilli, [this] {
      timer_ = IoLoop::Timer();
      PullSoon();
    });
  }
  void Wake() {
    if (!timer_.pending()) {
      woken_ = true;
      return;
    }
    timer_ = IoLoop::Timer();
    PullSoon();
  }

  // Io loop. Compares the number of messages taken with that of a while ago.
  void CheckIsRead(int64_t before) {
    int64_t now = writes_done_.load(std::memory_order_relaxed);
    if (now == before && writing_.load(std::memory_order_relaxed)) {
      MutexLock lock(context_mu_);
      if (impatient_ != nullptr) impatient_->TryCancel();
      return;
    }
    patience_ = loop_.After(kUnreadLimitMs * kNanosPerMilli, [this, now] { CheckIsRead(now); });
  }

  void End(const grpc::Status& status) {
    source_.reset();  // here, where it may block
    Finish(status);
  }

  void Finish(const grpc::Status& status) {
    grpc::Status ending = record_.Ending(status);
    to_grpc_.Give();
    grpc::ServerWriteReactor<Response>::Finish(std::move(ending));
  }

  IoLoop& loop_;
  WorkerPool& pool_;
  CallRecord record_;
  Mutex context_mu_;
  grpc::CallbackServerContext* impatient_ KPROF_GUARDED_BY(context_mu_);  // null once the call is over
  const bool is_impatient_;
  std::unique_ptr<PullSource<Response>> source_;
  std::stop_source stop_;
  TsanHandoff to_grpc_;
  std::atomic<bool> writing_{false};
  std::atomic<int64_t> writes_done_{0};
  Response message_;             // one call of Next, or one write, at a time
  int64_t pause_ms_ = kPauseMs;  // the same
  int waits_for_room_ = 0;       // the same; one after the other
  // Io loop. Shared with the source's way to wake this; null once this is gone.
  const std::shared_ptr<PullStream*> self_ = std::make_shared<PullStream*>(this);
  bool woken_ = false;      // io loop
  IoLoop::Timer timer_;     // io loop
  IoLoop::Timer patience_;  // io loop
};

// A stream that the admission refuses. Owns itself. Any thread.
template <typename Response>
class RefusedStream final : public grpc::ServerWriteReactor<Response> {
 public:
  explicit RefusedStream(CallRecord record) : record_(std::move(record)) {
    this->Finish(record_.Ending(record_.admitted()));
  }
  void OnDone() override { delete this; }

 private:
  CallRecord record_;
};

}  // namespace kprof
