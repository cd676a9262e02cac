#include "daemon/rpc/streams/upload_calls.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/messages/status_message.h"
#include "daemon/runs/artifact_upload.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/imports/held_sources.h"
#include "daemon/runs/imports/import_request.h"
#include "daemon/runs/object_lookup.h"

namespace kprof {
namespace {

constexpr const char* kSendSourceAct = "take source";

// As UploadCall: one read in flight, each message handled on a bulk worker before the next is read; what comes when is
// decided on the io loop. Owns itself; lives until gRPC is done with it.
class SourceUploadCall final : public grpc::ServerReadReactor<v1::UploadSourceRequest> {
 public:
  SourceUploadCall(CallRecord record, const ServiceContext& context, v1::UploadSourceResponse& response,
                   Places::Place upload_place, Places::Place source_place)
      : context_(context),
        record_(std::move(record)),
        uid_(record_.caller().uid),
        response_(response),
        upload_place_(std::move(upload_place)),
        source_place_(std::move(source_place)) {
    context_.loop.Post([this] {
      context_.sources->BeginUpload(uid_);
      Read();
    });
  }

  void OnReadDone(bool ok) override {
    context_.loop.Post([this, ok] { OnRead(ok); });
  }
  // The timer is the loop's, so the end is, too.
  void OnDone() override {
    context_.loop.Post([this] { delete this; });
  }

 private:
  // Io loop, these four.
  void Read() {
    idle_timer_ = context_.loop.After(kUploadIdleLimitMs * kNanosPerMilli, [this] { GiveUp(); });
    StartRead(&message_);
  }

  void OnRead(bool ok) {
    if (given_up_) return;
    idle_timer_.Cancel();
    Status submitted = context_.bulk.Submit([this, ok] {
      Status status = ok ? Take() : FinishUpload();
      const bool more = ok && status.ok();
      if (!more) spool_.reset();
      context_.loop.Post([this, more, status] { more ? Read() : End(status); });
    });
    if (!submitted.ok()) End(submitted);
  }

  // The read in flight comes back when gRPC has ended the call.
  void GiveUp() {
    given_up_ = true;
    End(Fail(ErrorCode::kTimedOut, kSendSourceAct,
             "nothing came for " + std::to_string(kUploadIdleLimitMs / 1000) + " s", "send it again"));
  }

  void End(const Status& status) {
    spool_.reset();  // its file has no name: closing it is quick
    if (status.ok()) response_.set_ticket(context_.sources->Keep(uid_, std::move(*source_)));
    context_.sources->EndUpload(uid_);
    upload_place_.reset();  // before the client knows, who may begin the next at once
    source_place_.reset();
    Finish(record_.Ending(status));
  }

  // Bulk workers, from here on.
  Status Take() {
    switch (message_.part_case()) {
      case v1::UploadSourceRequest::kHeader:
        return Begin(message_.header());
      case v1::UploadSourceRequest::kData:
        if (!spool_) return Fail(ErrorCode::kUsage, kSendSourceAct, "bytes came before the header");
        if (sent_bytes_) return Fail(ErrorCode::kUsage, kSendSourceAct, "bytes came after how many they are");
        return spool_->Add(message_.data());
      case v1::UploadSourceRequest::kSentBytes:
        sent_bytes_ = message_.sent_bytes();
        return OkStatus();
      default:
        return Fail(ErrorCode::kUsage, kSendSourceAct, "a message has neither header nor bytes nor how many they are");
    }
  }

  Status Begin(const v1::UploadSourceRequest::Header& header) {
    if (spool_) return Fail(ErrorCode::kUsage, kSendSourceAct, "a second header came");
    if (header.size_bytes() < 0) return Fail(ErrorCode::kUsage, kSendSourceAct, "its size is negative");
    const AnnouncedSource announced{LastStep(header.name()), header.size_bytes(), header.may_be_none()};
    ASSIGN_OR_RETURN(spool_, SourceSpool::Begin(context_.catalog, context_.files, context_.limits.upload_bytes, uid_,
                                                announced, context_.spool_limits));
    return OkStatus();
  }

  Status FinishUpload() {
    if (!spool_) return Fail(ErrorCode::kUsage, kSendSourceAct, "the stream ended before its header");
    // The stream ends in the same way when the client has sent all and when it is gone.
    if (!sent_bytes_) {
      return Fail(ErrorCode::kBadInput, kSendSourceAct, "the stream ended without how many bytes it has",
                  "send it again");
    }
    ASSIGN_OR_RETURN(source_, spool_->Finish(*sent_bytes_, std::move(*source_place_)));
    return OkStatus();
  }

  const ServiceContext& context_;
  CallRecord record_;
  const uint32_t uid_;
  v1::UploadSourceResponse& response_;
  std::optional<Places::Place> upload_place_;  // io loop
  IoLoop::Timer idle_timer_;                   // io loop; pending while it reads
  bool given_up_ = false;                      // io loop
  // One read, or one worker, at a time.
  v1::UploadSourceRequest message_;
  std::unique_ptr<SourceSpool> spool_;
  std::optional<int64_t> sent_bytes_;
  std::optional<Places::Place> source_place_;
  std::optional<HeldSource> source_;
};

class RefusedSourceUpload final : public grpc::ServerReadReactor<v1::UploadSourceRequest> {
 public:
  RefusedSourceUpload(CallRecord record, const Status& why) : record_(std::move(record)) {
    Finish(record_.Ending(why));
  }
  void OnDone() override { delete this; }

 private:
  CallRecord record_;
};

Result<std::pair<Places::Place, Places::Place>> TakePlaces(const CallRecord& record, const ServiceContext& context) {
  RETURN_IF_ERROR(record.admitted());
  if (context.sources == nullptr) return Fail(ErrorCode::kUsage, kSendSourceAct, "this kprofd imports nothing");
  const uint32_t account = record.caller().account();
  ASSIGN_OR_RETURN(Places::Place upload, context.limits.uploads.Take(account, kSendSourceAct, "uploads"));
  ASSIGN_OR_RETURN(Places::Place source, context.sources->TakePlace(account));
  return std::pair(std::move(upload), std::move(source));
}

}  // namespace

grpc::ServerReadReactor<v1::UploadSourceRequest>* StartSourceUpload(CallRecord record, const ServiceContext& context,
                                                                    v1::UploadSourceResponse& response) {
  Result<std::pair<Places::Place, Places::Place>> places = TakePlaces(record, context);
  if (!places.ok()) return new RefusedSourceUpload(std::move(record), places.status());
  return new SourceUploadCall(std::move(record), context, response, std::move(places->first),
                              std::move(places->second));
}

namespace {

// One read in flight, each message handled on a bulk worker before the next is read. What comes when, and when nothing
// has come for too long, is decided on the io loop. Owns itself; lives until gRPC is done with it.
class UploadCall final : public grpc::ServerReadReactor<v1::UploadArtifactRequest> {
 public:
  UploadCall(CallRecord record, const ServiceContext& context, v1::UploadArtifactResponse& response,
             Places::Place place)
      : context_(context), record_(std::move(record)), response_(response), place_(std::move(place)) {
    context_.loop.Post([this] { Read(); });
  }

  void OnReadDone(bool ok) override {
    context_.loop.Post([this, ok] { OnRead(ok); });
  }
  // The timer is the loop's, so the end is, too.
  void OnDone() override {
    context_.loop.Post([this] { delete this; });
  }

 private:
  // Io loop, these four.
  void Read() {
    idle_timer_ = context_.loop.After(kUploadIdleLimitMs * kNanosPerMilli, [this] { GiveUp(); });
    StartRead(&message_);
  }

  void OnRead(bool ok) {
    if (given_up_) return;
    idle_timer_.Cancel();
    Status submitted = context_.bulk.Submit([this, ok] {
      Status status = ok ? Take() : FinishUpload();
      const bool more = ok && status.ok();
      if (!more) upload_.reset();
      context_.loop.Post([this, more, status] { more ? Read() : End(status); });
    });
    if (!submitted.ok()) End(submitted);
  }

  // The read in flight comes back when gRPC has ended the call.
  void GiveUp() {
    given_up_ = true;
    Status silent = Fail(ErrorCode::kTimedOut, "add artifact",
                         "nothing came for " + std::to_string(kUploadIdleLimitMs / 1000) + " s", "send it again");
    Status submitted = context_.bulk.Submit([this, silent] {
      upload_.reset();
      context_.loop.Post([this, silent] { End(silent); });
    });
    if (!submitted.ok()) End(silent);
  }

  void End(const Status& status) {
    if (run_) context_.runs.retention().EndAdding(run_->id);
    if (status.ok()) {
      context_.runs.retention().OnAdded();
      AuditEntry entry = AuditEntryOf(ActorOf(record_.caller()), audit::kUpload, *run_, context_.clock.unix_ns());
      entry.detail = response_.artifact().name();
      if (run_->uid != entry.by.uid) entry.detail += " of uid " + std::to_string(run_->uid);
      context_.audit.Record(std::move(entry));
    }
    upload_.reset();  // gone already, but for a pool that took no more: then it costs the loop an unlink
    place_.reset();   // before the client knows, who may begin the next at once
    Finish(record_.Ending(status));
  }

  // Bulk workers, from here on.
  Status Take() {
    switch (message_.part_case()) {
      case v1::UploadArtifactRequest::kHeader:
        return Begin(message_.header());
      case v1::UploadArtifactRequest::kData:
        if (!upload_) return Fail(ErrorCode::kUsage, "add artifact", "bytes came before the header");
        return upload_->Add(message_.data());
      case v1::UploadArtifactRequest::kSha256:
        sha256_ = message_.sha256();
        return OkStatus();
      default:
        return Fail(ErrorCode::kUsage, "add artifact", "a message has neither header nor bytes nor sha256");
    }
  }

  Status Begin(const v1::UploadArtifactRequest::Header& header) {
    if (upload_) return Fail(ErrorCode::kUsage, "add artifact", "a second header came");
    RunRow run;
    {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow());
      ASSIGN_OR_RETURN(run, LookUpStoredRun(*reader, &context_.audit, record_.caller(), header.id(), record_.rpc(),
                                            "add an artifact to run"));
    }
    ASSIGN_OR_RETURN(upload_, ArtifactUpload::Begin(context_.catalog, context_.files, context_.limits.upload_bytes, run,
                                                    header.name()));
    context_.loop.Post([this, run = std::move(run)] {
      run_ = run;
      context_.runs.retention().BeginAdding(run.id);
    });
    return OkStatus();
  }

  Status FinishUpload() {
    if (!upload_) return Fail(ErrorCode::kUsage, "add artifact", "the stream ended before its header");
    // The stream ends in the same way when the client has sent all and when it is gone; only the sum tells.
    if (!sha256_) {
      return Fail(ErrorCode::kBadInput, "add artifact", "the stream ended without the sha256 of its bytes",
                  "send it again, with its sum last");
    }
    ASSIGN_OR_RETURN(ArtifactRow artifact, upload_->Finish(*sha256_));
    FillArtifact(artifact, *response_.mutable_artifact());
    return OkStatus();
  }

  const ServiceContext& context_;
  CallRecord record_;
  v1::UploadArtifactResponse& response_;
  std::optional<Places::Place> place_;  // io loop
  IoLoop::Timer idle_timer_;            // io loop; pending while it reads
  bool given_up_ = false;               // io loop
  std::optional<RunRow> run_;           // io loop; once its upload has begun
  // One read, or one worker, at a time.
  v1::UploadArtifactRequest message_;
  std::unique_ptr<ArtifactUpload> upload_;
  std::optional<std::string> sha256_;
};

class RefusedUpload final : public grpc::ServerReadReactor<v1::UploadArtifactRequest> {
 public:
  RefusedUpload(CallRecord record, const Status& why) : record_(std::move(record)) { Finish(record_.Ending(why)); }
  void OnDone() override { delete this; }

 private:
  CallRecord record_;
};

}  // namespace

grpc::ServerReadReactor<v1::UploadArtifactRequest>* StartUpload(CallRecord record, const ServiceContext& context,
                                                                v1::UploadArtifactResponse& response) {
  Status admitted = record.admitted();
  if (!admitted.ok()) return new RefusedUpload(std::move(record), admitted);
  Result<Places::Place> place = context.limits.uploads.Take(record.caller().account(), "add artifact", "uploads");
  if (!place.ok()) return new RefusedUpload(std::move(record), place.status());
  return new UploadCall(std::move(record), context, response, *std::move(place));
}

}  // namespace kprof
