// The rpc room with everything real but processes and time: the servers of each uid on socket pairs, a catalog on disk,
// files and SQLite behind one fault plan, the pools' threads, and an io loop on a thread of its own that goes by the
// fake clock. Clients are gRPC's own, in this process.
#pragma once

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/analysis/sql/attach/query_functions.h"
#include "daemon/rpc/caller_servers.h"
#include "daemon/rpc/rpc_metrics.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/command/run_folder.h"
#include "kprof/v1/analyses.grpc.pb.h"
#include "kprof/v1/node.grpc.pb.h"
#include "kprof/v1/queries.grpc.pb.h"
#include "kprof/v1/runs.grpc.pb.h"
#include "kprof/v1/sessions.grpc.pb.h"
#include "storage/catalog/run_table.h"
#include "storage/crypto/sha256.h"
#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/base/ticking_clock.h"
#include "tests/fakes/process/fake_launcher.h"
#include "tests/fakes/storage/faulty_disk.h"
#include "tests/fakes/storage/sample_runs.h"
#include "tests/unit/rpc/error_detail.h"

namespace kprof {

// What a client of one uid has.
struct RpcClient {
  explicit RpcClient(std::shared_ptr<grpc::Channel> channel)
      : channel(channel),
        node(v1::NodeService::NewStub(channel)),
        runs(v1::RunsService::NewStub(channel)),
        queries(v1::QueriesService::NewStub(channel)),
        analyses(v1::AnalysisService::NewStub(channel)),
        sessions(v1::SessionsService::NewStub(channel)) {}
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::NodeService::Stub> node;
  std::unique_ptr<v1::RunsService::Stub> runs;
  std::unique_ptr<v1::QueriesService::Stub> queries;
  std::unique_ptr<v1::AnalysisService::Stub> analyses;
  std::unique_ptr<v1::SessionsService::Stub> sessions;
};

// A call's context; the bound only catches hangs.
struct CallContext : grpc::ClientContext {
  CallContext() { set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60)); }
};

// Waits until it is so, looking from this thread; the bound only catches hangs.
inline bool Until(const std::function<bool()>& is_so) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Holds every thread of a pool until it is let go.
class StalledPool {
 public:
  StalledPool(WorkerPool& pool, size_t threads) : held_(std::make_shared<Held>(static_cast<ptrdiff_t>(threads))) {
    for (size_t i = 0; i < threads; ++i) {
      KPROF_CHECK(pool.Submit([held = held_] {
                        held->here.count_down();
                        held->go_on.wait();
                      })
                      .ok());
    }
    held_->here.wait();
  }
  ~StalledPool() { LetGo(); }
  StalledPool(const StalledPool&) = delete;
  StalledPool& operator=(const StalledPool&) = delete;
  void LetGo() {
    if (!held_->go_on.try_wait()) held_->go_on.count_down();
  }

 private:
  struct Held {
    explicit Held(ptrdiff_t threads) : here(threads) {}
    std::latch here;
    std::latch go_on{1};
  };
  const std::shared_ptr<Held> held_;  // shared with the jobs, which may wake when we are gone
};

// Can hold the writer after one commit, before anybody hears of that, until it is let go.
class WriterHold {
 public:
  void HoldNextCommit() { armed_ = true; }
  void AwaitCommit() { committed_.wait(); }
  void LetGo() {
    armed_ = false;
    if (!go_on_.try_wait()) go_on_.count_down();
  }
  // On the writer's thread.
  void OnCommit() {
    if (!armed_.exchange(false)) return;
    committed_.count_down();
    go_on_.wait();
  }

 private:
  std::atomic<bool> armed_ = false;
  std::latch committed_{1};
  std::latch go_on_{1};
};

class RpcFixture {
 public:
  static constexpr size_t kWorkers = 2;
  static constexpr size_t kBulkWorkers = 2;
  static constexpr size_t kQueryWorkers = StreamLimits::kQueryThreads;
  static constexpr uint32_t kUid = 1000;

  RpcFixture() = default;
  ~RpcFixture() { Stop(); }
  RpcFixture(const RpcFixture&) = delete;
  RpcFixture& operator=(const RpcFixture&) = delete;

  // Set before Start.
  OutputLimits output_{.head_bytes = 1000, .tail_bytes = 1000};
  StorageLimits storage_limits_;
  ConnectionLimits server_limits_;
  ImportContext::SetRank set_rank_ = [](auto&&...) -> Result<int64_t> { return 5; };
  ImportContext::Import import_ = [](auto&&...) -> Result<ImportedPart> {
    return Fail(ErrorCode::kBadInput, "import", "this test reads nothing");
  };
  WriterHold writer_hold_;

  void Start() {
    static const bool prepared = (CallerServers::PrepareProcess(), true);
    (void)prepared;
    Catalog::Options options;
    options.layout = Layout{folder_ / "state"};
    options.vfs = disk_.vfs.name();
    options.writer.on_commit = [this](int64_t, size_t, const Status&) { writer_hold_.OnCommit(); };
    catalog_ = *Catalog::Open(options, files());
    KPROF_CHECK(files().CreateFolder(layout().TemporaryFolder()).ok());
    KPROF_CHECK(files().CreateFolder(layout().SpoolFolder()).ok());
    loop_ = std::make_unique<IoLoop>(clock_);
    workers_ = std::make_unique<WorkerPool>(WorkerPool::Options{.threads = kWorkers, .queue_limit_jobs = 1024});
    bulk_ = std::make_unique<WorkerPool>(WorkerPool::Options{.threads = kBulkWorkers, .queue_limit_jobs = 1024});
    query_pool_ = std::make_unique<WorkerPool>(WorkerPool::Options{.threads = kQueryWorkers, .queue_limit_jobs = 64});
    audit_ = std::make_unique<AuditLog>(*loop_, clock_, catalog_->writer(), metrics_);
    audited_calls_ = std::make_unique<AuditedCalls>(*audit_, rpc_metrics_);
    RunContext run_context{*loop_,  clock_,    *workers_, *workers_, *workers_,
                           files(), *catalog_, launcher_, devices_,  output_};
    sources_ = std::make_unique<HeldSources>(*loop_);
    imports_ = std::make_unique<ImportContext>(ImportContext{import_, set_rank_, {}, *sources_, *bulk_, *bulk_});
    run_context.imports = imports_.get();
    runs_ = std::make_unique<Runs>(run_context, Runs::Options(), "", RecoveredRuns());
    limits_ = std::make_unique<StreamLimits>(storage_limits_);
    parts_ = std::make_unique<ServiceContext>(ServiceContext{
        *loop_, clock_, *workers_, *bulk_, *query_pool_, files(), *catalog_, devices_, *runs_, *limits_, answers_,
        health_, *audit_, trace_columns_, trace_parts_, trace_functions_, NodeInfo{"host", "test", "user", "/s"}});
    parts_->sources = sources_.get();
    servers_ = *CallerServers::Create(*parts_, server_limits_, audited_calls_.get());
    turning_ = std::thread([this] {
      while (!stop_turning_) {
        loop_->RunUntilIdle();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      loop_->RunUntilIdle();
    });
    OnLoop([this] { runs_->Begin(); });
  }

  void Stop() {
    if (!servers_) return;
    writer_hold_.LetGo();
    {
      TickingClock passing(clock_, 10);  // a stream that waits for its timer sees the end then
      servers_->Shutdown(0);
    }
    stop_turning_ = true;
    turning_.join();
    servers_.reset();
    for (WorkerPool* pool : {query_pool_.get(), bulk_.get(), workers_.get()}) pool->End();
    loop_->RunUntilIdle();
    runs_.reset();
    imports_.reset();
    sources_.reset();
    audit_.reset();
    catalog_.reset();
    query_pool_.reset();
    bulk_.reset();
    workers_.reset();
    loop_.reset();
  }

  // A connection of that user.
  RpcClient Connect(uint32_t uid = kUid, Role role = Role::kViewer) { return ConnectAs(Caller{uid, role, true, {}}); }
  // One that takes no more than it reads: a library of gRPC's else fetches megabytes in advance.
  RpcClient ConnectWithoutLookahead(uint32_t uid = kUid) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 16 << 10);
    return ConnectAs(Caller{uid, Role::kViewer, true, {}}, arguments);
  }
  RpcClient ConnectAs(const Caller& caller, const grpc::ChannelArguments& arguments = {}) {
    int ends[2];
    KPROF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    OnLoop([&] { servers_->Serve(caller, UniqueFd(ends[0])); });
    return RpcClient(grpc::CreateCustomInsecureChannelFromFd("test", ends[1], arguments));
  }

  void OnLoop(const std::function<void()>& task) {
    std::promise<void> done;
    loop_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  // The workers' jobs and the loop's tasks are done, and what these brought.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      { StalledPool all(*workers_, kWorkers); }
      OnLoop([] {});
    }
  }

  // Until, looking from the io loop.
  bool UntilOnLoop(const std::function<bool()>& is_so) {
    return Until([&] {
      bool so = false;
      OnLoop([&] { so = is_so(); });
      return so;
    });
  }
  // Time passes until it is so, so much at a time.
  bool Passing(int64_t step_ms, const std::function<bool()>& is_so) {
    return Until([&] {
      clock_.Advance(step_ms * kNanosPerMilli);
      return is_so();
    });
  }

  // A run of the catalog, ended or not, without its Runs knowing.
  std::string Store(RunRow row) {
    Status stored = catalog_->writer().SubmitAndWait([&](Db& db) { return InsertRun(db, row); });
    EXPECT_TRUE(stored.ok()) << stored.ToString();
    return row.id;
  }
  // An ended one with these artifacts.
  std::string StoreEnded(const std::string& id, const std::vector<std::pair<std::string, std::string>>& artifacts = {},
                         uint32_t uid = kUid) {
    RunRow row = EndedRun(id, 1'700'000'000'000'000'000, 0);
    row.uid = uid;
    row.artifacts.clear();
    KPROF_CHECK(files().CreateFolder(layout().RunFolder(id)).ok());
    for (const auto& [name, content] : artifacts) {
      row.artifacts.push_back({name, static_cast<int64_t>(content.size()), Sha256Of(content)});
      std::unique_ptr<File> file = *files().Create(layout().ArtifactPath(id, name));
      KPROF_CHECK(file->Append(content).ok());
      if (name == kStdoutName) row.stdout_bytes = static_cast<int64_t>(content.size());
    }
    return Store(std::move(row));
  }

  // Submits a command and plays it until it runs.
  std::string RunningRun(RpcClient& client, bool attached = false) {
    size_t before = 0;
    OnLoop([&] { before = launcher_.count(); });
    std::string id = SubmitRun(client, attached);
    EXPECT_TRUE(GoesOn(before));
    return id;
  }
  // Plays a launch from its beginning until its command runs.
  bool GoesOn(size_t launch) {
    if (!UntilOnLoop([&] { return launcher_.count() > launch; })) return false;
    OnLoop([&] { launcher_.at(launch).Prepared(); });
    if (!UntilOnLoop([&] { return launcher_.at(launch).go_calls > 0; })) return false;
    OnLoop([&] { launcher_.at(launch).Started(); });
    return true;
  }
  std::string SubmitRun(RpcClient& client, bool attached = false) {
    v1::SubmitRunRequest request;
    request.mutable_spec()->set_tool("command");
    request.mutable_spec()->add_argv("/bin/true");
    request.mutable_spec()->set_cwd("/");
    request.mutable_spec()->set_device("cpu");
    request.mutable_spec()->set_attached(attached);
    v1::SubmitRunResponse response;
    CallContext context;
    grpc::Status status = client.runs->SubmitRun(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.run().id();
  }
  static v1::Run Get(RpcClient& client, const std::string& id) {
    v1::GetRunRequest request;
    request.set_id(id);
    v1::GetRunResponse response;
    CallContext context;
    grpc::Status status = client.runs->GetRun(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.run();
  }
  // The last one launched ends so.
  void EndLast(int exit_code = 0, bool stopped = false) {
    OnLoop([&] {
      CommandEnded ended;
      ended.stopped = stopped;
      ended.exit_code = exit_code;
      ended.ended_unix_ns = clock_.unix_ns();
      ended.wall_ns = 5;
      launcher_.last().Ended(ended);
    });
  }
  bool HasEnded(const std::string& id) {
    return UntilOnLoop([&] { return !runs_->FindOpen(id).has_value(); });
  }

  std::vector<FolderEntry> TemporaryFiles() { return *files().List(layout().TemporaryFolder()); }

  const Layout& layout() { return catalog_->layout(); }
  FaultFiles& files() { return disk_.files; }

  TemporaryFolder folder_;
  FaultyDisk disk_;
  FakeClock clock_;
  DeviceBook devices_{DeviceList({})};
  FakeLauncher launcher_;
  StorageHealth health_;
  Metrics metrics_;
  ConnectionMetrics connection_metrics_{metrics_};
  RpcMetrics rpc_metrics_{metrics_, connection_metrics_};
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<AuditedCalls> audited_calls_;
  AnswerCache answers_;
  ColumnCache trace_columns_{16 << 20};
  PartPool trace_parts_{trace_columns_};
  QueryFunctions trace_functions_;
  std::unique_ptr<IoLoop> loop_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<WorkerPool> bulk_;
  std::unique_ptr<WorkerPool> query_pool_;
  std::unique_ptr<HeldSources> sources_;
  std::unique_ptr<ImportContext> imports_;
  std::unique_ptr<Runs> runs_;
  std::unique_ptr<StreamLimits> limits_;
  std::unique_ptr<ServiceContext> parts_;
  std::unique_ptr<CallerServers> servers_;
  std::atomic<bool> stop_turning_{false};
  std::thread turning_;
};

}  // namespace kprof
