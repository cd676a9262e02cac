#include "daemon/rpc/watch_stream.h"

#include <optional>
#include <string>
#include <utility>

#include "daemon/rpc/hand_over.h"
#include "daemon/rpc/run_lookup.h"
#include "daemon/rpc/run_message.h"
#include "daemon/rpc/status_map.h"
#include "daemon/runs/run_end.h"

namespace kprof {
namespace {

// What both calls share: following a run on the io loop, and ending once. All fields belong to the loop; gRPC's
// reactions post to it. It goes when gRPC is done with it and the look-up, which goes over a worker, has come back.
template <typename Reactor>
class FollowingCall : public Reactor {
 public:
  void OnCancel() final {
    to_grpc_.Take();
    parts_.loop.Post([this] { End(grpc::Status::CANCELLED); });
  }
  void OnDone() final {
    to_grpc_.Take();
    parts_.loop.Post([this] {
      released_ = true;
      if (!looking_up_) delete this;
    });
  }

 protected:
  FollowingCall(CallRecord record, const RpcParts& parts) : parts_(parts), record_(std::move(record)) {}
  ~FollowingCall() override = default;

  // Last thing in the constructor.
  void Begin(const std::string& name, const std::string& act) {
    to_grpc_.Give();
    if (!record_.admission().ok()) {
      looking_up_ = false;
      return parts_.loop.Post([this] { End(ToGrpc(record_.admission())); });
    }
    LookUpRun(parts_, record_.caller(), name, record_.rpc(), act, [this](Result<RunRow> row) {
      looking_up_ = false;
      if (released_) {
        delete this;
        return;
      }
      if (finished_) return;
      if (!row.ok()) return End(ToGrpc(row.status()));
      run_id_ = row->id;
      std::optional<Runs::View> open = parts_.runs.FindOpen(run_id_);
      if (!open) return Changed(Runs::View{*std::move(row), {}});
      if (holds()) parts_.runs.Hold(run_id_);
      watch_ = parts_.runs.Watch(run_id_, [this](const Runs::View& view) { Changed(view); });
      Changed(*open);
    });
  }

  // The run as it is when it is found, and on each change until End.
  virtual void Changed(const Runs::View& view) = 0;

  // Only the first one counts.
  void End(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return;
    if (watch_ != 0) {
      parts_.runs.Unwatch(run_id_, watch_);
      if (holds()) parts_.runs.Unhold(run_id_);
    }
    this->Finish(record_.Ending(status));
  }

  const RpcParts& parts() const { return parts_; }
  bool finished() const { return finished_; }
  const HandOver& to_grpc() const { return to_grpc_; }

 private:
  bool holds() const { return record_.rpc() == Rpc::kHoldRun; }

  const RpcParts& parts_;
  CallRecord record_;
  HandOver to_grpc_;  // of what the constructor made; all else is the loop's
  std::string run_id_;
  Runs::WatchId watch_ = 0;
  bool finished_ = false;
  bool looking_up_ = true;
  bool released_ = false;
};

class WatchStream final : public FollowingCall<grpc::ServerWriteReactor<v1::WatchRunResponse>> {
 public:
  WatchStream(CallRecord record, const RpcParts& parts, const v1::WatchRunRequest& request)
      : FollowingCall(std::move(record), parts) {
    Begin(request.id(), "watch run");
  }

  void OnWriteDone(bool ok) override {
    to_grpc().Take();
    parts().loop.Post([this, ok] {
      writing_ = false;
      if (finished()) return;
      if (!ok) return End(grpc::Status::CANCELLED);
      SendPending();
    });
  }

 private:
  void Changed(const Runs::View& view) override {
    pending_ = view;
    if (!writing_) SendPending();
  }

  void SendPending() {
    if (finished()) return;
    if (!pending_) {
      if (sent_last_) End(grpc::Status::OK);
      return;
    }
    message_.Clear();
    FillRun(pending_->row, *message_.mutable_run());
    message_.set_queue_position(pending_->outlook.position);
    if (pending_->outlook.position > 0 && pending_->outlook.wait_ns) {
      message_.set_estimated_wait_ms(*pending_->outlook.wait_ns / kNanosPerMilli);
    }
    message_.set_now_unix_ns(parts().clock.unix_ns());
    const ClientLauncher* offers = parts().client_launcher;
    message_.set_launch_offered(offers != nullptr && offers->IsOffered(pending_->row.id));
    sent_last_ = IsTerminal(pending_->row.state);
    pending_.reset();
    writing_ = true;
    StartWrite(&message_);
  }

  v1::WatchRunResponse message_;
  std::optional<Runs::View> pending_;
  bool writing_ = false;
  bool sent_last_ = false;
};

class WaitCall final : public FollowingCall<grpc::ServerUnaryReactor> {
 public:
  WaitCall(CallRecord record, const RpcParts& parts, const v1::WaitRunRequest& request, v1::WaitRunResponse& response)
      : FollowingCall(std::move(record), parts), response_(response) {
    Begin(request.id(), "wait for run");
  }

 private:
  void Changed(const Runs::View& view) override {
    if (finished() || !IsTerminal(view.row.state)) return;
    FillRun(view.row, *response_.mutable_run());
    End(ToGrpc(StatusOfEnd(view.row)));
  }

  v1::WaitRunResponse& response_;
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchRunResponse>* StartWatch(CallRecord record, const RpcParts& parts,
                                                           const v1::WatchRunRequest& request) {
  return new WatchStream(std::move(record), parts, request);
}

grpc::ServerUnaryReactor* StartWait(CallRecord record, const RpcParts& parts, const v1::WaitRunRequest& request,
                                    v1::WaitRunResponse& response) {
  return new WaitCall(std::move(record), parts, request, response);
}

}  // namespace kprof
