#include "daemon/runs/imports/import_life.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/seconds_text.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

constexpr int64_t kProgressNs = 200 * kNanosPerMilli;

}  // namespace

ImportLife::ImportLife(const RunContext& context, RunRow row, std::shared_ptr<const ImportPlan> plan,
                       int64_t longest_ms, OnImportProgress progress, LifeEvents events)
    : context_(context),
      progress_(std::move(progress)),
      events_(std::move(events)),
      longest_ms_(longest_ms),
      row_(std::move(row)),
      plan_(std::move(plan)) {
  KPROF_CHECK(context_.imports != nullptr);
}

void ImportLife::Commit(std::function<Status(Db&)> also, std::function<void(Status)> then) {
  auto job = [row = row_, also = std::move(also)](Db& db) -> Status {
    RETURN_IF_ERROR(UpdateRun(db, row));
    return also ? also(db) : OkStatus();
  };
  context_.catalog.writer().Submit(
      std::move(job),
      // The writer may answer when we are gone; what it posts then never runs.
      [this, &loop = context_.loop, row = row_, then = std::move(then)](Status status) {
        loop.Post([this, row, then, status] {
          if (status.ok()) events_.changed(row);
          then(status);
        });
      },
      Durability::kLater);
}

template <typename T>
void ImportLife::OnWorker(WorkerPool& pool, std::function<Result<T>()> work, std::function<void(Result<T>)> then) {
  auto job = [&loop = context_.loop, work = std::move(work), then] {
    auto result = std::make_shared<Result<T>>(work());  // shared: std::function copies its captures
    loop.Post([result, then] { then(std::move(*result)); });
  };
  const Status submitted = pool.Submit(std::move(job));
  if (!submitted.ok()) context_.loop.Post([then, submitted] { then(submitted); });
}

void ImportLife::Begin() {
  KPROF_ON_IO_LOOP(context_.loop);
  row_.state = RunState::kPreparing;
  Commit(nullptr, [this](const Status& status) {
    if (!status.ok()) error_ = status;
    error_ || stop_reason_ ? End() : Prepare();
  });
}

void ImportLife::Prepare() {
  made_folder_ = true;
  auto work = [&files = context_.files, folder = context_.catalog.layout().RunFolder(row_.id)]() -> Result<bool> {
    RETURN_IF_ERROR(files.CreateFolder(folder));
    return true;
  };
  OnWorker<bool>(context_.workers, std::move(work), [this](const Result<bool>& made) {
    if (!made.ok()) error_ = made.status();
    error_ || stop_reason_ ? BeginCollecting() : CommitRunning();
  });
}

void ImportLife::CommitRunning() {
  row_.state = RunState::kRunning;
  row_.started_ns = context_.clock.unix_ns();
  Commit(nullptr, [this](const Status& status) {
    if (!status.ok()) error_ = status;
    error_ || stop_reason_ ? BeginCollecting() : Import();
  });
}

void ImportLife::Import() {
  went_ = true;
  began_mono_ns_ = context_.clock.mono_ns();
  if (longest_ms_ > 0) {
    timeout_ = context_.loop.After(longest_ms_ * kNanosPerMilli, [this] {
      Stop(Fail(ErrorCode::kTimedOut, "run " + row_.id,
                "it took the " + SecondsText(longest_ms_) + " that this node lets a run last",
                "import less at a time, or ask whoever runs the node for a longer [limits] max_run_minutes"),
           0);
    });
  }
  auto work = [&context = *context_.imports, &files = context_.files, &layout = context_.catalog.layout(), id = row_.id,
               plan = plan_, stop = stop_.get_token(),
               report = Reporter()] { return ImportSources(context, files, layout, id, *plan, stop, report); };
  OnWorker<Imported>(context_.imports->pool, std::move(work),
                     [this](Result<Imported> imported) { OnImported(std::move(imported)); });
}

// Called on the thread that reads; tells the loop some times a second.
OnImportProgress ImportLife::Reporter() {
  return
      [this, &loop = context_.loop, &clock = context_.clock, last_ns = int64_t{0}](const ImportProgress& now) mutable {
        const int64_t now_ns = clock.mono_ns();
        if (last_ns != 0 && now_ns - last_ns < kProgressNs) return;
        last_ns = now_ns;
        // We are there until the result is, which is posted after this.
        loop.Post([this, now] { progress_(now); });
      };
}

bool ImportLife::Stop(const Status& reason, int64_t /*grace_ms*/) {
  KPROF_ON_IO_LOOP(context_.loop);
  if (over_) return false;
  if (!stop_reason_) stop_reason_ = reason;
  stop_.request_stop();
  // What is on its way, a commit or a worker, comes back and sees it.
  return true;
}

void ImportLife::OnImported(Result<Imported> imported) {
  if (imported.ok()) {
    if (!stop_reason_) imported_ = *std::move(imported);
  } else {
    error_ = imported.status();
  }
  BeginCollecting();
}

void ImportLife::BeginCollecting() {
  over_ = true;
  timeout_.Cancel();
  plan_.reset();
  row_.state = RunState::kCollecting;
  row_.ended_ns = context_.clock.unix_ns();
  int64_t bytes = 0;
  if (imported_) {
    bytes = TotalsOf(imported_->trace).bytes;
    for (const ArtifactRow& artifact : imported_->artifacts) bytes += artifact.size_bytes;
  }
  // Others of this owner's may have come meanwhile.
  auto fits = [storage = context_.storage, uid = row_.uid, bytes](Db& db) -> Status {
    if (storage == nullptr || bytes == 0) return OkStatus();
    return storage->CheckBytes(db, uid, bytes, "keep what was imported");
  };
  Commit(fits, [this](const Status& status) {
    if (!status.ok() && !error_) error_ = status;
    imported_ && !error_ ? End() : RemoveFolder();
  });
}

void ImportLife::RemoveFolder() {
  imported_.reset();
  if (!made_folder_) return End();
  auto work = [&files = context_.files, folder = context_.catalog.layout().RunFolder(row_.id)]() -> Result<bool> {
    const Status removed = files.RemoveTree(folder);
    if (!removed.ok() && removed.code() != ErrorCode::kNotFound) {
      LogWarning("what an import left is not removed", {{"folder", folder}, {"error", removed.ToString()}});
    }
    return true;
  };
  OnWorker<bool>(context_.files_work, std::move(work), [this](const Result<bool>&) { End(); });
}

void ImportLife::End() {
  over_ = true;
  if (!went_) row_.started_ns.reset();
  if (imported_) {
    row_.trace = std::move(imported_->trace);
    row_.artifacts = std::move(imported_->artifacts);
    std::sort(row_.artifacts.begin(), row_.artifacts.end(),
              [](const ArtifactRow& a, const ArtifactRow& b) { return a.name < b.name; });
    row_.trust.insert(row_.trust.end(), imported_->trust.begin(), imported_->trust.end());
    const int64_t wall_ns = context_.clock.mono_ns() - began_mono_ns_;
    row_.metrics.push_back(MetricRow{.name = "wall_ns", .value = static_cast<double>(wall_ns), .unit = "ns"});
    row_.metrics.insert(row_.metrics.end(), imported_->metrics.begin(), imported_->metrics.end());
  }
  // Who stopped it says why; what the stop made of the reading is no news.
  std::optional<Status> why = stop_reason_ && !imported_ ? stop_reason_ : error_;
  if (why && !stop_reason_)
    LogInfo("import failed", {{"run", row_.id}, {"error", std::string(ErrorName(why->code()))}});
  SetEnd(row_, why, context_.clock.unix_ns());
  std::vector<MetricRow> kernel_metrics;
  if (imported_) kernel_metrics = std::move(imported_->kernel_metrics);
  events_.ended({row_, /*may_live_on=*/false, went_, went_, std::move(kernel_metrics)});
}

}  // namespace kprof
