#include "daemon/runs/retention/ended_runs.h"

#include <memory>
#include <utility>

#include "daemon/runs/audit/audit_log.h"
#include "storage/catalog/run_details.h"
#include "storage/catalog/run_table.h"

namespace kprof {

void StoreRunEnd(const RunContext& context, RunEndToStore end, std::function<void(const Status&)> done) {
  const auto store = [end = std::move(end)](Db& db) -> Status {
    RETURN_IF_ERROR(UpdateRun(db, end.row));
    if (!end.kernel_metrics.empty()) RETURN_IF_ERROR(PutKernelMetrics(db, end.row.id, end.kernel_metrics));
    for (const LeftoverRow& leftover : end.told) RETURN_IF_ERROR(ForgetLeftover(db, leftover));
    for (const LeftoverRow& leftover : end.left) RETURN_IF_ERROR(NoteLeftover(db, leftover));
    return end.entry ? AppendAudit(db, *end.entry) : OkStatus();
  };
  context.catalog.writer().Submit(store, [&loop = context.loop, done = std::move(done)](const Status& status) {
    loop.Post([done, status] { done(status); });
  });
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

Status DeleteIfEnded(Db& db, const std::string& id, const Actor& by, int64_t now_ns) {
  const std::string what = "delete run " + id;
  ASSIGN_OR_RETURN(RunRow row, ReadRun(db, id));
  if (!IsTerminal(row.state)) return Fail(ErrorCode::kUsage, what, "it has not ended", "cancel it first");
  if (row.pinned) return Fail(ErrorCode::kUsage, what, "it is pinned", "unpin it first");
  RETURN_IF_ERROR(DeleteRun(db, id));
  return AppendAudit(db, AuditEntryOf(by, audit::kDelete, row, now_ns));
}

// Knows the parts and not who asked: what it posts when that one is gone never runs.
class Deletion : public std::enable_shared_from_this<Deletion> {
 public:
  Deletion(const RunContext& context, std::string id, Actor by, std::function<void(Status)> done)
      : context_(context), id_(std::move(id)), by_(std::move(by)), done_(std::move(done)) {}

  // The row first: a crash before its folder has been moved leaves a folder of no run, which the next start puts out of
  // the way (recovery.h).
  void DeleteRow(bool may_release_reserve) {
    auto remove = [id = id_, by = by_, now_ns = context_.clock.unix_ns()](Db& db) {
      return DeleteIfEnded(db, id, by, now_ns);
    };
    context_.catalog.writer().Submit(std::move(remove),
                                     [self = shared_from_this(), may_release_reserve](const Status& deleted) {
                                       const bool is_full = deleted.code() == ErrorCode::kStorageFull;
                                       if (!deleted.ok() && !(is_full && may_release_reserve))
                                         return self->Answer(deleted);
                                       Status submitted = self->context_.files_work.Submit([self, deleted] {
                                         if (deleted.ok()) return self->DeleteFiles();
                                         if (!self->context_.catalog.reserve().Release()) return self->Answer(deleted);
                                         self->DeleteRow(/*may_release_reserve=*/false);
                                       });
                                       if (!submitted.ok()) self->Answer(deleted);
                                     });
  }

 private:
  void DeleteFiles() {
    // First to where a start cleans up, in one step: from then on a crash leaves no folder of no run.
    const Layout& layout = context_.catalog.layout();
    const std::string going = layout.TemporaryFolder() + "/deleted-" + id_;
    Status removed = context_.files.Rename(layout.RunFolder(id_), going);
    if (context_.trace_parts != nullptr) context_.trace_parts->CloseBelow(layout.RunFolder(id_));
    if (removed.ok()) removed = context_.files.RemoveTree(going);
    if (removed.code() == ErrorCode::kNotFound) removed = OkStatus();  // it had left nothing
    (void)context_.catalog.reserve().Fill();                           // for the next time; now there may be space
    Answer(removed);
  }

  void Answer(const Status& status) {
    context_.loop.Post([done = done_, status] { done(status); });
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
  std::make_shared<Deletion>(context, id, by, std::move(done))->DeleteRow(/*may_release_reserve=*/true);
}

}  // namespace kprof
