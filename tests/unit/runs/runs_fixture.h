// The runs room with everything real but processes and time: a catalog on disk, files and SQLite behind one fault plan,
// the writer on its thread, workers inline.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/runs/recovery.h"
#include "daemon/runs/runs.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/process/fake_caller_grants.h"
#include "tests/fakes/process/fake_launcher.h"
#include "tests/fakes/storage/faulty_disk.h"

namespace kprof {

class RunsFixture {
 public:
  ~RunsFixture() { Close(); }

  // A start of the daemon: opens, recovers, begins. What it says when it fails.
  Status Open() {
    Catalog::Options options;
    options.layout = Layout{folder_ / "state"};
    options.vfs = disk_.vfs.name();
    ASSIGN_OR_RETURN(catalog_, Catalog::Open(options, disk_.files));
    ASSIGN_OR_RETURN(RecoveredRuns recovered, RecoverRuns(*catalog_, disk_.files, clock_));
    std::string last_id;
    {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog_->readers().Borrow());
      ASSIGN_OR_RETURN(last_id, ReadLastRunId(*reader));
    }
    launcher_ = std::make_unique<FakeLauncher>();
    loop_ = std::make_unique<IoLoop>(clock_);
    workers_ = std::make_unique<WorkerPool>(WorkerPool::Options{.threads = 0, .queue_limit_jobs = 1024});
    RunContext parts{*loop_,    clock_,     *workers_, *workers_, *workers_, disk_.files,
                     *catalog_, *launcher_, devices_,  output_,   observer_};
    grants_ = std::make_unique<FakeCallerGrants>(*loop_);
    if (system_mode_) parts.grants = grants_.get();
    parts.storage = &storage_limits_;
    parts.boot_id = boot_id_;
    sources_ = std::make_unique<HeldSources>(*loop_);
    import_pool_ = std::make_unique<WorkerPool>(WorkerPool::Options{.threads = import_threads_});
    looking_ = std::make_unique<WorkerTurns>(WorkerPool::Options{.threads = looking_threads_});
    imports_ = std::make_unique<ImportContext>(
        ImportContext{import_, set_rank_, {}, *sources_, *import_pool_, *workers_, looking_.get(), look_});
    if (import_) parts.imports = imports_.get();
    runs_ = std::make_unique<Runs>(parts, options_, last_id, std::move(recovered));
    loop_->RunUntilIdle();  // this thread is the loop's
    runs_->Begin();
    loop_->RunUntilIdle();
    return OkStatus();
  }

  // The daemon is gone, without a word to anybody.
  void Close() {
    runs_.reset();
    if (workers_) workers_->End();
    if (import_pool_) import_pool_->End();
    if (looking_) looking_->End();
    // Answers of the writer that are still to come find loop and workers.
    catalog_.reset();
    workers_.reset();
    imports_.reset();
    import_pool_.reset();
    looking_.reset();
    sources_.reset();
    loop_.reset();
    launcher_.reset();
  }

  void Restart() {
    Close();
    Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }

  // Turns the loop until it is so. Commits come from another thread, in their own time; the bound only catches hangs.
  bool Until(const std::function<bool()>& is_so) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (true) {
      loop_->RunUntilIdle();
      if (is_so()) return true;
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
  }

  // `answered` is called as Runs::Stop says.
  void Cancel(
      const std::string& id, int64_t grace_ms = 0,
      std::function<void(Result<RunRow>)> answered = [](const Result<RunRow>&) {}) {
    runs_->Stop(id, Fail(ErrorCode::kCancelled, "run " + id, "it was cancelled"), grace_ms, std::move(answered));
  }

  // Time passes, and what was due happens.
  void Pass(int64_t ms) {
    clock_.Advance(ms * kNanosPerMilli);
    loop_->RunUntilIdle();
  }

  static RunRequest Command(const std::string& program = "/bin/true") {
    RunRequest request;
    request.uid = 1000;
    request.place = CallerPlace::kHere;
    request.tool = "command";
    request.argv = {program};
    request.environment = {"PATH=/bin", "MY_SECRET=s3cret"};
    request.cwd = "/";
    request.device = "cpu";
    return request;
  }

  static RunRequest On(const std::string& device, bool attached = false) {
    RunRequest request = Command();
    request.device = device;
    request.attached = attached;
    return request;
  }

  // Answers with the row or the refusal.
  Result<RunRow> Submit(RunRequest request) {
    std::optional<Result<RunRow>> answer;
    runs_->Submit(std::move(request), [&](Result<RunRow> row) { answer = std::move(row); });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return *answer;
  }
  std::string SubmitOk(RunRequest request = Command()) {
    Result<RunRow> row = Submit(std::move(request));
    EXPECT_TRUE(row.ok()) << row.status().ToString();
    return row.ok() ? row->id : "";
  }

  // Plays a launch from its beginning to Go.
  bool GoesOn(size_t launch) {
    if (!Until([&] { return launcher_->count() > launch; })) return false;
    launcher_->at(launch).Prepared();
    if (!Until([&] { return launcher_->at(launch).go_calls > 0; })) return false;
    launcher_->at(launch).Started();
    return true;
  }
  static CommandEnded ExitCode(int code) {
    CommandEnded ended;
    ended.exit_code = code;
    ended.ended_unix_ns = 1'800'000'001LL * kNanosPerSecond;
    ended.wall_ns = 5;
    return ended;
  }

  bool HasEnded(const std::string& id) {
    return Until([&] { return !runs_->FindOpen(id).has_value(); });
  }
  // As the catalog has it.
  RunRow Stored(const std::string& id) {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    Result<RunRow> row = ReadRun(**reader, id);
    EXPECT_TRUE(row.ok()) << row.status().ToString();
    return row.ok() ? *row : RunRow();
  }

  const Layout& layout() { return catalog_->layout(); }

  TemporaryFolder folder_;
  FaultyDisk disk_;
  FakeClock clock_;
  DeviceBook devices_{DeviceList({Device{.id = "0", .kind = DeviceKind::kNvidia, .name = "H200", .uuid = "GPU-a"},
                                  Device{.id = "1", .kind = DeviceKind::kNvidia, .name = "H200", .uuid = "GPU-b"}})};
  StorageLimits storage_limits_;
  OutputLimits output_;
  RunObserver* observer_ = nullptr;
  Runs::Options options_;
  std::string boot_id_ = "this-boot";
  bool system_mode_ = false;      // clients and the helper start commands
  ImportContext::Import import_;  // none: nothing is imported
  ImportContext::SetRank set_rank_;
  ImportContext::Look look_;    // none: the sources of an import are one run
  size_t import_threads_ = 0;   // 0: within the loop
  size_t looking_threads_ = 0;  // 0: within the loop
  std::unique_ptr<FakeLauncher> launcher_;
  std::unique_ptr<FakeCallerGrants> grants_;
  std::unique_ptr<IoLoop> loop_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<HeldSources> sources_;
  std::unique_ptr<WorkerPool> import_pool_;
  std::unique_ptr<WorkerTurns> looking_;
  std::unique_ptr<ImportContext> imports_;
  std::unique_ptr<Runs> runs_;
};

}  // namespace kprof
