#include "daemon/runs/retention/run_pinning.h"

#include <memory>
#include <utility>

#include "daemon/runs/audit/audit_log.h"
#include "storage/catalog/run_table.h"

namespace kprof {

void PinRun(const RunContext& parts, const std::string& id, bool pinned, const Actor& by,
            std::function<void(Result<RunRow>)> done) {
  KPROF_ON_IO_LOOP(parts.loop);
  auto row = std::make_shared<RunRow>();  // shared by the job, which fills it, and the answer
  auto job = [id, pinned, by, row, now_ns = parts.clock.unix_ns()](Db& db) -> Status {
    ASSIGN_OR_RETURN(*row, ReadRun(db, id));
    if (row->pinned == pinned) return OkStatus();  // no deed, so no entry
    RETURN_IF_ERROR(SetPinned(db, id, pinned));
    row->pinned = pinned;
    return AppendAudit(db, AuditEntryOf(by, pinned ? audit::kPin : audit::kUnpin, *row, now_ns));
  };
  parts.catalog.writer().Submit(
      std::move(job), [&loop = parts.loop, row, done = std::move(done)](const Status& status) {
        loop.Post([row, done, status] { status.ok() ? done(std::move(*row)) : done(status); });
      });
}

}  // namespace kprof
