#include "daemon/rpc/watch_stream.h"

#include <optional>

#include "daemon/rpc/hand_over.h"
#include "daemon/rpc/run_lookup.h"
#include "daemon/rpc/run_message.h"
#include "daemon/rpc/status_map.h"
#include "daemon/runs/run_end.h"

namespace kprof {
namespace {

// What both calls share: following a run on the io loop, and ending once. All fields belong to the loop; gRPC's
// reactions post to it. It goes when gRPC is done with it and the look-up, which goes over a worker, has come back.
class Follower {
 public:
  Follower(const RpcParts& parts, bool hold) : parts_(parts), hold_(hold) {}

  void Begin(const Caller& caller, const std::string& name, const std::string& act) {
    // Whoever holds a run decides how long it lives.
    const RunAction action = hold_ ? RunAction::kChange : RunAction::kSee;
    LookUpRun(parts_, caller, name, action, act, [this](Result<RunRow> row) {
      looking_up_ = false;
      if (released_) return DeleteSelf();
      if (finished_) return;
      if (!row.ok()) return Failed(row.status());
      run_id_ = row->id;
      std::optional<Runs::View> open = parts_.runs.FindOpen(run_id_);
      if (!open) return Changed(Runs::View{*std::move(row), 0});
      if (hold_) parts_.runs.Hold(run_id_);
      watch_ = parts_.runs.Watch(run_id_, [this](const Runs::View& view) { Changed(view); });
      Changed(*open);
    });
  }

  void Leave() {
    finished_ = true;
    if (watch_ == 0) return;
    parts_.runs.Unwatch(run_id_, watch_);
    if (hold_) parts_.runs.Unhold(run_id_);
    watch_ = 0;
  }

  // gRPC is done with the call.
  void Release() {
    released_ = true;
    if (!looking_up_) DeleteSelf();
  }

  const RpcParts& parts() const { return parts_; }
  bool finished() const { return finished_; }

 protected:
  virtual ~Follower() = default;
  virtual void Changed(const Runs::View& view) = 0;
  virtual void Failed(const Status& status) = 0;
  virtual void DeleteSelf() = 0;

 private:
  const RpcParts& parts_;
  const bool hold_;
  std::string run_id_;
  Runs::WatchId watch_ = 0;
  bool finished_ = false;
  bool looking_up_ = true;
  bool released_ = false;
};

class WatchStream final : public grpc::ServerWriteReactor<v1::WatchRunResponse>, private Follower {
 public:
  WatchStream(const RpcParts& parts, const Caller& caller, const v1::WatchRunRequest& request)
      : Follower(parts, request.hold()) {
    to_grpc_.Give();
    Begin(caller, request.id(), "watch run");
  }

  void OnWriteDone(bool ok) override {
    to_grpc_.Take();
    parts().loop.Post([this, ok] {
      writing_ = false;
      if (finished()) return;
      if (!ok) return End(grpc::Status::CANCELLED);
      SendPending();
    });
  }
  void OnCancel() override {
    to_grpc_.Take();
    parts().loop.Post([this] { End(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    to_grpc_.Take();
    parts().loop.Post([this] { Release(); });
  }

 private:
  void Changed(const Runs::View& view) override {
    pending_ = view;
    if (!writing_) SendPending();
  }
  void Failed(const Status& status) override { End(ToGrpc(status)); }
  void DeleteSelf() override { delete this; }

  void SendPending() {
    if (finished()) return;
    if (!pending_) {
      if (sent_last_) End(grpc::Status::OK);
      return;
    }
    message_.Clear();
    FillRun(pending_->row, *message_.mutable_run());
    message_.set_queue_position(pending_->queue_position);
    message_.set_now_unix_ns(parts().clock.unix_ns());
    sent_last_ = IsTerminal(pending_->row.state);
    pending_.reset();
    writing_ = true;
    StartWrite(&message_);
  }

  void End(const grpc::Status& status) {
    if (finished()) return;
    Leave();
    Finish(status);
  }

  HandOver to_grpc_;  // of what the constructor made; all else is the loop's
  v1::WatchRunResponse message_;
  std::optional<Runs::View> pending_;
  bool writing_ = false;
  bool sent_last_ = false;
};

class WaitCall final : public grpc::ServerUnaryReactor, private Follower {
 public:
  WaitCall(const RpcParts& parts, const Caller& caller, const v1::WaitRunRequest& request,
           v1::WaitRunResponse& response)
      : Follower(parts, false), response_(response) {
    to_grpc_.Give();
    Begin(caller, request.id(), "wait for run");
  }

  void OnCancel() override {
    to_grpc_.Take();
    parts().loop.Post([this] { End(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    to_grpc_.Take();
    parts().loop.Post([this] { Release(); });
  }

 private:
  void Changed(const Runs::View& view) override {
    if (finished() || !IsTerminal(view.row.state)) return;
    FillRun(view.row, *response_.mutable_run());
    End(ToGrpc(StatusOfEnd(view.row)));
  }
  void Failed(const Status& status) override { End(ToGrpc(status)); }
  void DeleteSelf() override { delete this; }

  void End(const grpc::Status& status) {
    if (finished()) return;
    Leave();
    Finish(status);
  }

  HandOver to_grpc_;  // of what the constructor made; all else is the loop's
  v1::WaitRunResponse& response_;
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchRunResponse>* StartWatch(const RpcParts& parts, const Caller& caller,
                                                           const v1::WatchRunRequest& request) {
  return new WatchStream(parts, caller, request);
}

grpc::ServerUnaryReactor* StartWait(const RpcParts& parts, const Caller& caller, const v1::WaitRunRequest& request,
                                    v1::WaitRunResponse& response) {
  return new WaitCall(parts, caller, request, response);
}

}  // namespace kprof
