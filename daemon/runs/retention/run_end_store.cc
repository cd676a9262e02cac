#include "daemon/runs/retention/run_end_store.h"

#include <utility>

#include "storage/catalog/run_details.h"
#include "storage/catalog/run_table.h"

namespace kprof {

void StoreRunEnd(const RunContext& parts, RunEndToStore end, std::function<void(const Status&)> done) {
  const auto store = [end = std::move(end)](Db& db) -> Status {
    RETURN_IF_ERROR(UpdateRun(db, end.row));
    if (!end.kernel_metrics.empty()) RETURN_IF_ERROR(PutKernelMetrics(db, end.row.id, end.kernel_metrics));
    for (const LeftoverRow& leftover : end.told) RETURN_IF_ERROR(ForgetLeftover(db, leftover));
    for (const LeftoverRow& leftover : end.left) RETURN_IF_ERROR(NoteLeftover(db, leftover));
    return end.entry ? AppendAudit(db, *end.entry) : OkStatus();
  };
  parts.catalog.writer().Submit(store, [&loop = parts.loop, done = std::move(done)](const Status& status) {
    loop.Post([done, status] { done(status); });
  });
}

}  // namespace kprof
