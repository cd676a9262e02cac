// The life of an import: one run from its turn until its end is known: preparing, running, collecting. Each state is
// committed before it is acted on, so that it outlasts the death of kprofd. The end alone outlasts a loss of power,
// too: an import that had not ended is lost with its open sources, whatever its state was. Its results are in the
// catalog with its end, and not before; an import that fails or is stopped leaves nothing.
//
// Io loop only; the reading is done on a pool.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "daemon/runs/imports/import_work.h"
#include "daemon/runs/life.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"

namespace kprof {

class ImportLife final : public Life {
 public:
  // `row` is queued. `plan` is shared with the thread that reads, which may go on for a while after a stop.
  // `longest_ms`: the time that it may read; 0: as long as it likes. REQUIRES: the context has imports.
  ImportLife(const RunContext& context, RunRow row, std::shared_ptr<const ImportPlan> plan, int64_t longest_ms,
             OnImportProgress progress, LifeEvents events);

  void Begin() override;
  bool Stop(const Status& reason, int64_t grace_ms) override;
  bool has_begun() const override { return went_; }

 private:
  void Commit(std::function<Status(Db&)> also, std::function<void(Status)> then);
  template <typename T>
  void OnWorker(WorkerPool& pool, std::function<Result<T>()> work, std::function<void(Result<T>)> then);
  void Prepare();
  void CommitRunning();
  void Import();
  OnImportProgress Reporter();
  void OnImported(Result<Imported> imported);
  void BeginCollecting();
  void RemoveFolder();
  void End();

  const RunContext context_;
  const OnImportProgress progress_;
  const LifeEvents events_;
  const int64_t longest_ms_;
  RunRow row_;
  std::shared_ptr<const ImportPlan> plan_;
  std::stop_source stop_;
  std::optional<Status> stop_reason_;
  std::optional<Status> error_;
  std::optional<Imported> imported_;
  bool made_folder_ = false;
  bool went_ = false;
  bool over_ = false;  // its reading has ended, or never will begin
  int64_t began_mono_ns_ = 0;
  IoLoop::Timer timeout_;
};

}  // namespace kprof
