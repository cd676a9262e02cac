#include "daemon/runs/imports/import_submission.h"

#include <optional>
#include <utility>
#include <vector>

#include "daemon/ingest/source/source_formats.h"
#include "daemon/ingest/source/source_hash.h"
#include "daemon/runs/audit/audit_log.h"
#include "storage/catalog/earlier_import.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

constexpr const char* kSubmitImportAct = "submit import";

RunRow RowOf(const ImportRequest& request, std::string id, int64_t now_unix_ns) {
  RunRow row;
  row.id = std::move(id);
  row.uid = request.uid;
  row.tool = kImportTool;
  row.argv = CommandOf(request);
  row.labels = request.labels;
  row.shared = request.shared;
  row.attached = request.attached;
  row.idempotency_key = request.idempotency_key;
  row.queued_ns = now_unix_ns;
  return row;
}

// Knows the parts and not who asked: what it posts when that one is gone never runs.
class ImportSubmission : public std::enable_shared_from_this<ImportSubmission> {
 public:
  ImportSubmission(const RunContext& parts, ImportRequest request, std::string id, std::stop_token stop,
                   std::function<void(Result<SubmittedImport>)> done)
      : context_(parts),
        request_(std::move(request)),
        row_(RowOf(request_, std::move(id), context_.clock.unix_ns())),
        stop_(std::move(stop)),
        done_(std::move(done)) {}

  // The run that the same caller submitted with the same key, if any: its tickets are claimed then.
  void Begin() {
    if (row_.idempotency_key.empty()) return ClaimSources();
    OnPool(context_.workers, [](ImportSubmission& self) {
      if (self.AnswerTwin()) return;
      self.OnLoop([](ImportSubmission& self) { self.ClaimSources(); });
    });
  }

 private:
  using Step = void (*)(ImportSubmission&);
  void OnPool(WorkerPool& pool, Step step) {
    const Status submitted = pool.Submit([self = shared_from_this(), step] { step(*self); });
    if (!submitted.ok()) Refuse(submitted);
  }
  void OnLoop(Step step) {
    context_.loop.Post([self = shared_from_this(), step] { step(*self); });
  }

  bool AnswerTwin() {
    Result<ReaderPool::Lease> reader = context_.catalog.readers().Borrow(stop_);
    if (!reader.ok()) return false;
    Result<std::optional<RunRow>> twin = ReadRunByKey(**reader, row_.uid, row_.idempotency_key);
    if (!twin.ok() || !twin->has_value()) return false;
    Answer(SubmittedImport{**std::move(twin), nullptr, false});
    return true;
  }

  void ClaimSources() {
    plan_ = std::make_shared<ImportPlan>();
    plan_->format = request_.format;
    plan_->keep_sources = request_.keep_sources;
    for (const ImportRequest::Source& source : request_.sources) {
      Result<HeldSource> held = context_.imports->sources.Claim(row_.uid, source.ticket);
      const std::string name = LastStep(source.name);
      if (!held.ok()) return Refuse(held.status().In("claim '" + name + "'"));
      plan_->sources.push_back({*std::move(held), name, source.rank, source.name, source.may_be_none});
    }
    if (request_.again) return OnPool(context_.workers, [](ImportSubmission& self) { self.Store(); });
    OnPool(context_.workers, [](ImportSubmission& self) { self.LookForSizes(); });
  }

  // Hashing a source takes as long as reading it; only what has the size of an earlier one may be the same.
  void LookForSizes() {
    std::vector<int64_t> sizes_bytes;
    for (const ImportPlan::Source& source : plan_->sources) sizes_bytes.push_back(source.held.size_bytes);
    const Result<bool> known = [&]() -> Result<bool> {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow(stop_));
      return HasSourcesOfSizes(*reader, row_.uid, sizes_bytes);
    }();
    if (!known.ok()) return Refuse(known.status());
    if (!*known) return Store();
    OnPool(context_.imports->hashing, [](ImportSubmission& self) { self.LookForSame(); });
  }

  void LookForSame() {
    const Result<std::optional<RunRow>> same = FindSame();
    if (!same.ok()) return Refuse(same.status());
    if (same->has_value()) return Answer(SubmittedImport{**same, nullptr, true});
    OnPool(context_.workers, [](ImportSubmission& self) { self.Store(); });
  }

  Result<std::optional<RunRow>> FindSame() {
    std::vector<WantedSource> wanted;
    for (const ImportPlan::Source& source : plan_->sources) {
      ASSIGN_OR_RETURN(std::string hash, HashSource(source.held.fd.get(), stop_));
      if (hash.empty()) return std::optional<RunRow>();  // it becomes shorter as we look: it is no other file's like
      wanted.push_back({std::move(hash), FormatReadAs(plan_->format), source.rank});
    }
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow(stop_));
    return FindImport(*reader, row_.uid, std::move(wanted), plan_->keep_sources);
  }

  void Store() {
    if (stop_.stop_requested()) return Refuse(Fail(ErrorCode::kCancelled, kSubmitImportAct, "its client is gone"));
    AuditEntry entry = AuditEntryOf({row_.uid, request_.caller}, audit::kSubmit, row_, row_.queued_ns);
    entry.detail = DetailWithCertificate(entry.detail, request_.certificate_id);
    const int64_t kept_bytes = plan_->keep_sources ? plan_->total_bytes() : 0;
    auto insert = [storage = context_.storage, row = row_, entry, kept_bytes](Db& db) -> Status {
      if (storage != nullptr) RETURN_IF_ERROR(storage->CheckRun(db, row.uid, "store it"));
      if (storage != nullptr && kept_bytes > 0) {
        RETURN_IF_ERROR(storage->CheckBytes(db, row.uid, kept_bytes, "keep its sources"));
      }
      RETURN_IF_ERROR(InsertRun(db, row));
      return AppendAudit(db, entry);
    };
    context_.catalog.writer().Submit(std::move(insert), [self = shared_from_this()](const Status& inserted) {
      if (inserted.ok()) return self->Answer(SubmittedImport{self->row_, self->plan_, false});
      self->why_ = inserted;
      // Two requests with one key can pass each other; the later one finds the first. The writer has others waiting.
      self->OnPool(self->context_.workers, [](ImportSubmission& self) {
        if (self.row_.idempotency_key.empty() || !self.AnswerTwin()) self.Refuse(self.why_);
      });
    });
  }

  void Refuse(const Status& why) { Answer(why.In(kSubmitImportAct)); }

  void Answer(Result<SubmittedImport> stored) {
    context_.loop.Post([done = std::move(done_), stored = std::move(stored)] { done(stored); });
  }

  const RunContext context_;
  const ImportRequest request_;
  const RunRow row_;
  const std::stop_token stop_;
  std::shared_ptr<ImportPlan> plan_;
  Status why_;
  std::function<void(Result<SubmittedImport>)> done_;
};

}  // namespace

void StoreSubmittedImport(const RunContext& parts, ImportRequest request, std::string id, std::stop_token stop,
                          std::function<void(Result<SubmittedImport>)> done) {
  KPROF_ON_IO_LOOP(parts.loop);
  std::make_shared<ImportSubmission>(parts, std::move(request), std::move(id), std::move(stop), std::move(done))
      ->Begin();
}

}  // namespace kprof
