#include "daemon/runs/retention/ended_runs.h"

#include <memory>
#include <utility>

#include "daemon/runs/audit/audit_log.h"
#include "storage/catalog/run_details.h"
#include "storage/catalog/run_table.h"

namespace kprof {

void SubmitWithReserve(const RunContext& context, Writer::Job job, Writer::Done done) {
  auto again = [context, job, done = std::move(done)](const Status& stored) {
    if (stored.code() != ErrorCode::kStorageFull) return done(stored);
    const Status submitted = context.files_work.Submit([context, job, done] {
      (void)context.catalog.reserve().Release();  // or another has just done so
      context.catalog.writer().Submit(job, done);
    });
    if (!submitted.ok()) done(stored);
  };
  context.catalog.writer().Submit(std::move(job), std::move(again));
}

bool RemovalMakesRoom(const RunContext& context) {
  const Result<int64_t> free_bytes = context.files.ReadFreeBytes(context.catalog.layout().state_folder);
  return free_bytes.ok() && *free_bytes < SpaceReserve::kBytes;
}

namespace {

Status StoreEnd(Db& db, const RunEndToStore& end) {
  RETURN_IF_ERROR(UpdateRun(db, end.row));
  if (!end.kernel_metrics.empty()) RETURN_IF_ERROR(PutKernelMetrics(db, end.row.id, end.kernel_metrics));
  for (const LeftoverRow& leftover : end.told) RETURN_IF_ERROR(ForgetLeftover(db, leftover));
  for (const LeftoverRow& leftover : end.left) RETURN_IF_ERROR(NoteLeftover(db, leftover));
  return end.entry ? AppendAudit(db, *end.entry) : OkStatus();
}

Result<RunRow> CheckMayGo(Db& db, const std::string& id) {
  const std::string what = "delete run " + id;
  ASSIGN_OR_RETURN(RunRow row, ReadRun(db, id));
  if (!IsTerminal(row.state)) return Fail(ErrorCode::kUsage, what, "it has not ended", "cancel it first");
  if (row.pinned) return Fail(ErrorCode::kUsage, what, "it is pinned", "unpin it first");
  return row;
}

Status DeleteIfEnded(Db& db, const std::string& id, const Actor& by, int64_t now_ns) {
  ASSIGN_OR_RETURN(const RunRow row, CheckMayGo(db, id));
  RETURN_IF_ERROR(DeleteRun(db, id));
  return AppendAudit(db, AuditEntryOf(by, audit::kDelete, row, now_ns));
}

Writer::Done OnLoop(IoLoop& loop, std::function<void(const Status&)> done) {
  return [&loop, done = std::move(done)](const Status& status) { loop.Post([done, status] { done(status); }); };
}

}  // namespace

void StoreRunEnd(const RunContext& context, RunEndToStore end, std::function<void(const Status&)> done) {
  SubmitWithReserve(
      context, [end = std::move(end)](Db& db) { return StoreEnd(db, end); }, OnLoop(context.loop, std::move(done)));
}

void StoreRunEndAndDelete(const RunContext& context, RunEndToStore end, const Actor& by,
                          std::function<void(const Status&)> done) {
  auto job = [end = std::move(end), by, now_ns = context.clock.unix_ns()](Db& db) -> Status {
    RETURN_IF_ERROR(StoreEnd(db, end));
    return DeleteIfEnded(db, end.row.id, by, now_ns);
  };
  SubmitWithReserve(context, std::move(job), OnLoop(context.loop, std::move(done)));
}

void PinRun(const RunContext& context, const std::string& id, bool pinned, const Actor& by,
            std::function<void(Result<RunRow>)> done) {
  KPROF_ON_IO_LOOP(context.loop);
  auto row = std::make_shared<RunRow>();  // shared by the job, which fills it, and the answer
  auto job = [id, pinned, by, row, now_ns = context.clock.unix_ns()](Db& db) -> Status {
    ASSIGN_OR_RETURN(*row, ReadRun(db, id));
    if (row->pinned == pinned) return OkStatus();  // no deed, so no entry
    RETURN_IF_ERROR(SetPinned(db, id, pinned));
    row->pinned = pinned;
    return AppendAudit(db, AuditEntryOf(by, pinned ? audit::kPin : audit::kUnpin, *row, now_ns));
  };
  context.catalog.writer().Submit(
      std::move(job), [&loop = context.loop, row, done = std::move(done)](const Status& status) {
        loop.Post([row, done, status] { status.ok() ? done(std::move(*row)) : done(status); });
      });
}

namespace {

// Knows the parts and not who asked: what it posts when that one is gone never runs.
class Deletion : public std::enable_shared_from_this<Deletion> {
 public:
  Deletion(const RunContext& context, std::string id, Actor by, std::function<void(Status)> done)
      : context_(context), id_(std::move(id)), by_(std::move(by)), done_(std::move(done)) {}

  // The row first: a crash before its folder has been moved leaves a folder of no run, which the next start puts out of
  // the way (recovery.h).
  void Begin() {
    DeleteRow([self = shared_from_this()](const Status& deleted) {
      const bool is_full = deleted.code() == ErrorCode::kStorageFull;
      if (!deleted.ok() && !is_full) return self->Answer(deleted);
      const Status submitted = self->context_.files_work.Submit([self, deleted] {
        if (deleted.ok()) return self->Answer(self->DeleteFiles());
        if (!RemovalMakesRoom(self->context_)) return self->Answer(deleted);
        self->DeleteFilesFirst();
      });
      if (!submitted.ok()) self->Answer(deleted);
    });
  }

 private:
  void DeleteRow(Writer::Done done) {
    auto remove = [id = id_, by = by_, now_ns = context_.clock.unix_ns()](Db& db) {
      return DeleteIfEnded(db, id, by, now_ns);
    };
    SubmitWithReserve(context_, std::move(remove), std::move(done));
  }

  // Not even the reserve was enough: the files make the room in which the row goes. It may go: nothing that would
  // change that can be stored.
  void DeleteFilesFirst() {
    const Status may_go = [&]() -> Status {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow());
      return CheckMayGo(*reader, id_).status();
    }();
    if (!may_go.ok()) return Answer(may_go);
    const Status removed = DeleteFiles();
    if (!removed.ok()) return Answer(removed);
    DeleteRow([self = shared_from_this()](const Status& deleted) { self->Answer(deleted); });
  }

  Status DeleteFiles() {
    // First to where a start cleans up, in one step: from then on a crash leaves no folder of no run.
    const Layout& layout = context_.catalog.layout();
    const std::string going = layout.TemporaryFolder() + "/deleted-" + id_;
    Status removed = context_.files.Rename(layout.RunFolder(id_), going);
    if (context_.trace_parts != nullptr) context_.trace_parts->CloseBelow(layout.RunFolder(id_));
    if (removed.ok()) removed = context_.files.RemoveTree(going);
    if (removed.code() == ErrorCode::kStorageFull) removed = context_.files.RemoveTree(layout.RunFolder(id_));
    if (removed.code() == ErrorCode::kNotFound) removed = OkStatus();  // it had left nothing
    (void)context_.catalog.reserve().Fill();                           // for the next time; now there may be space
    return removed;
  }

  void Answer(const Status& status) {
    const Status answer = status.ok() ? status : status.In("delete run " + id_);
    context_.loop.Post([done = done_, answer] { done(answer); });
  }

  const RunContext context_;
  const std::string id_;
  const Actor by_;
  const std::function<void(Status)> done_;
};

}  // namespace

void DeleteEndedRun(const RunContext& context, const std::string& id, const Actor& by,
                    std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(context.loop);
  std::make_shared<Deletion>(context, id, by, std::move(done))->Begin();
}

}  // namespace kprof
