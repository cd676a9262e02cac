#include "daemon/rpc/streams/watch_stream.h"

#include <optional>
#include <string>
#include <utility>

#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/messages/status_message.h"
#include "daemon/rpc/streams/call_record.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/object_lookup.h"

namespace kprof {
namespace {

// What both calls share: following a run on the io loop, and ending once. All fields belong to the loop; gRPC's
// reactions post to it. It goes when gRPC is done with it and the look-up, which goes over a worker, has come back.
template <typename Reactor>
class FollowingCall : public Reactor {
 public:
  void OnCancel() final {
    to_grpc_.Take();
    context_.loop.Post([this] { End(grpc::Status::CANCELLED); });
  }
  void OnDone() final {
    to_grpc_.Take();
    context_.loop.Post([this] {
      released_ = true;
      if (!looking_up_) delete this;
    });
  }

 protected:
  FollowingCall(CallRecord record, const ServiceContext& context) : context_(context), record_(std::move(record)) {
    record_.BecomeWatch();
  }
  ~FollowingCall() override = default;

  // Last thing in the constructor.
  void Begin(const std::string& name, const std::string& act) {
    to_grpc_.Give();
    if (!record_.admitted().ok()) {
      looking_up_ = false;
      return context_.loop.Post([this] { End(ToGrpc(record_.admitted())); });
    }
    LookUpRun(context_.lookup(), record_.caller(), name, record_.rpc(), act, [this](Result<RunRow> row) {
      looking_up_ = false;
      if (released_) {
        delete this;
        return;
      }
      if (finished_) return;
      if (!row.ok()) return End(ToGrpc(row.status()));
      run_id_ = row->id;
      std::optional<Runs::View> open = context_.runs.FindOpen(run_id_);
      if (!open) return Changed({*row, {}, {}});
      if (holds()) Hold(open->row);
      watch_ = context_.runs.Watch(run_id_, [this](const Runs::View& view) { Changed(view); });
      Changed(*open);
    });
  }

  // The run as it is when it is found, and on each change until End.
  virtual void Changed(const Runs::View& view) = 0;

  // As it is now; nothing when its end has been told.
  std::optional<Runs::View> Now() const { return context_.runs.FindOpen(run_id_); }

  // Only the first one counts.
  void End(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return;
    if (watch_ != 0) {
      context_.runs.Unwatch(run_id_, watch_);
      if (holds()) context_.runs.Unhold(run_id_);
    }
    this->Finish(record_.Ending(status));
  }

  const ServiceContext& context() const { return context_; }
  CallRecord& record() { return record_; }
  bool finished() const { return finished_; }
  const TsanHandoff& to_grpc() const { return to_grpc_; }

 private:
  bool holds() const { return record_.rpc() == Rpc::kHoldRun; }

  // Whose it is holds it in any case; somebody else decides for them how long it lives.
  void Hold(const RunRow& run) {
    context_.runs.Hold(run_id_);
    if (run.uid == record_.caller().uid) return;
    context_.audit.Record(AuditEntryOf(ActorOf(record_.caller()), audit::kHold, run, context_.clock.unix_ns()));
  }

  const ServiceContext& context_;
  CallRecord record_;
  TsanHandoff to_grpc_;  // of what the constructor made; all else is the loop's
  std::string run_id_;
  WatchId watch_ = 0;
  bool finished_ = false;
  bool looking_up_ = true;
  bool released_ = false;
};

// While a message is on its way nothing is kept of what happens but that it did; what there is to tell is read when the
// next one can go. So a client that does not read costs its last message, however much the run changes, and of the end
// a second one, without the command: that one cannot be read later.
class WatchStream final : public FollowingCall<grpc::ServerWriteReactor<v1::WatchRunResponse>> {
 public:
  WatchStream(CallRecord record, const ServiceContext& context, const v1::WatchRunRequest& request)
      : FollowingCall(std::move(record), context) {
    Begin(request.id(), "watch run");
  }

  void OnWriteDone(bool ok) override {
    to_grpc().Take();
    context().loop.Post([this, ok] {
      writing_ = false;
      v1::WatchRunResponse().Swap(&message_);  // unlike Clear, gives the memory back
      record().GiveAnswerBack();
      if (finished()) return;
      if (!ok) return End(grpc::Status::CANCELLED);
      SendNext();
    });
  }

 private:
  void Changed(const Runs::View& view) override {
    if (finished() || sent_last_) return;
    if (!writing_) return Send(view);
    changed_ = true;
    if (IsTerminal(view.row.state)) end_ = MessageOf(view, false);
  }

  void SendNext() {
    if (end_) {
      message_.Swap(&*end_);
      end_.reset();
      return Write();
    }
    if (sent_last_) return End(grpc::Status::OK);
    if (!std::exchange(changed_, false)) return;
    if (std::optional<Runs::View> now = Now()) Send(*now);
  }

  void Send(const Runs::View& view) {
    const bool is_first = !std::exchange(sent_first_, true);
    if (is_first) {
      if (Status room = record().TakeAnswer(RunMessageBytes(view.row)); !room.ok()) return End(ToGrpc(room));
    }
    message_ = MessageOf(view, is_first);
    Write();
  }

  v1::WatchRunResponse MessageOf(const Runs::View& view, bool with_command) const {
    v1::WatchRunResponse message;
    with_command ? FillRun(view.row, *message.mutable_run()) : FillRunWithoutCommand(view.row, *message.mutable_run());
    FillOutlook(view.outlook, message);
    const ClientLauncher* offers = context().client_launcher;
    if (view.import_progress) {
      v1::ImportProgress& progress = *message.mutable_import_progress();
      progress.set_bytes(view.import_progress->bytes);
      progress.set_total_bytes(view.import_progress->total_bytes);
      progress.set_events(view.import_progress->events);
    }
    message.set_launch_offered(offers != nullptr && offers->IsOffered(view.row.id));
    return message;
  }

  void Write() {
    message_.set_now_unix_ns(context().clock.unix_ns());
    sent_last_ = IsTerminal(FromWire(message_.run().state()));
    writing_ = true;
    StartWrite(&message_);
  }

  v1::WatchRunResponse message_;             // on its way, while `writing_`
  std::optional<v1::WatchRunResponse> end_;  // waits for its turn
  bool changed_ = false;                     // since the message that is on its way
  bool writing_ = false;
  bool sent_first_ = false;
  bool sent_last_ = false;
};

class WaitCall final : public FollowingCall<grpc::ServerUnaryReactor> {
 public:
  WaitCall(CallRecord record, const ServiceContext& context, const v1::WaitRunRequest& request,
           v1::WaitRunResponse& response)
      : FollowingCall(std::move(record), context), response_(response) {
    Begin(request.id(), "wait for run");
  }

 private:
  void Changed(const Runs::View& view) override {
    if (finished() || !IsTerminal(view.row.state)) return;
    Status ended = StatusOfEnd(view.row);
    if (ended.ok()) ended = record().TakeAnswer(RunMessageBytes(view.row));
    if (ended.ok()) FillRun(view.row, *response_.mutable_run());  // of another end only the error is sent
    End(ToGrpc(ended));
  }

  v1::WaitRunResponse& response_;
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchRunResponse>* StartWatch(CallRecord record, const ServiceContext& context,
                                                           const v1::WatchRunRequest& request) {
  return new WatchStream(std::move(record), context, request);
}

grpc::ServerUnaryReactor* StartWait(CallRecord record, const ServiceContext& context, const v1::WaitRunRequest& request,
                                    v1::WaitRunResponse& response) {
  return new WaitCall(std::move(record), context, request, response);
}

}  // namespace kprof
