#include "daemon/daemon.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/analysis/sql/attach/query_functions.h"
#include "daemon/base/io_loop.h"
#include "daemon/base/log.h"
#include "daemon/base/user_names.h"
#include "daemon/base/worker_pool.h"
#include "daemon/config/access_config.h"
#include "daemon/daemon_metrics.h"
#include "daemon/device_setup.h"
#include "daemon/devices/device_book.h"
#include "daemon/ingest/trace_import.h"
#include "daemon/launch_setup.h"
#include "daemon/net/local_acceptor.h"
#include "daemon/remote_clients.h"
#include "daemon/revoked_access.h"
#include "daemon/room_settings.h"
#include "daemon/rpc/answer_cache.h"
#include "daemon/rpc/caller_servers.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/stream_limits.h"
#include "daemon/run_charts_setup.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/audit/audit_retention.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/ceiling_book.h"
#include "daemon/runs/imports/held_sources.h"
#include "daemon/runs/recovery.h"
#include "daemon/runs/retention/expiry_clock.h"
#include "daemon/runs/retention/storage_limits.h"
#include "daemon/runs/retention/storage_room.h"
#include "daemon/runs/run_context.h"
#include "daemon/runs/runs.h"
#include "daemon/side_socket_handler.h"
#include "daemon/systemd/watchdog.h"
#include "daemon/web/web_thread.h"
#include "storage/base/clock.h"
#include "storage/base/files.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/retention.h"
#include "storage/catalog/run_list.h"
#include "storage/trace/write/part_writer.h"

namespace kprof {
namespace {

constexpr size_t kWorkers = 2;
constexpr size_t kBulkWorkers = 4;
constexpr size_t kRunFilesWorkers = 2;
constexpr size_t kOutputsWorkers = 2;
constexpr size_t kHashingWorkers = 1;
constexpr size_t kLookingWorkers = 4;  // each with a kprof-ingest that looks at a file for some milliseconds
constexpr int kQueriesNiceness = 5;    // many long ones at once are not to be felt by who asks short questions
constexpr int64_t kStopGraceMs = 5000;
constexpr int64_t kCallsGraceMs = 2000;
constexpr int64_t kDeviceMetricsLimitNs = 300 * kNanosPerMilli;
constexpr int64_t kClocksGraceNs = 6 * kNanosPerSecond;
constexpr int64_t kLookAtPartsMs = 20'000;
constexpr auto kKeptColumns = std::chrono::minutes(10);  // of traces, after the last question
constexpr const char* kSocketName = "kprofd";            // FileDescriptorName= in kprofd.socket
constexpr mode_t kOwnSocketMode = 0600;
constexpr mode_t kSystemSocketMode = 0666;  // who connects is told by the socket

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return ReadableText(name);
}

// Only where there are many users does it matter who somebody counts as.
Config WithSubordinates(Config config) {
  if (config.mode == Mode::kSystem) ReadSubordinates(config.access);
  return config;
}

}  // namespace

const char* DaemonVersion() {
  return KPROF_VERSION;
}

// In the order of construction; destroyed in reverse.
struct Daemon::Rooms {
  explicit Rooms(const Config& config) : config(config), devices(DeviceList(config.accelerators)) {}
  ~Rooms() {
    for (WorkerPool* pool : {&workers, &bulk, &run_files, &outputs, &queries, &importing, &hashing}) pool->End();
    looking.End();
  }
  Rooms(const Rooms&) = delete;
  Rooms& operator=(const Rooms&) = delete;

  Config config;  // io loop, once that runs
  RealClock clock;
  std::unique_ptr<Files> files = MakePosixFiles();
  DeviceBook devices;
  DaemonMetrics metrics{clock, config.queue.runs, DaemonVersion()};
  IoLoop loop{clock};  // before the catalog, whose writer posts its last answers to it
  // Their jobs use what stands below, so they are over before all that goes; who still submits some, as the writer does
  // with its last answers, finds them here.
  WorkerPool workers{{.threads = kWorkers, .queue_limit_jobs = 65536}};
  WorkerPool bulk{{.threads = kBulkWorkers, .queue_limit_jobs = 4096}};
  WorkerPool run_files{{.threads = kRunFilesWorkers, .queue_limit_jobs = 65536}};
  WorkerPool outputs{{.threads = kOutputsWorkers, .queue_limit_jobs = 65536}};
  WorkerPool queries{{.threads = StreamLimits::kQueryThreads, .queue_limit_jobs = 256, .niceness = kQueriesNiceness}};
  WorkerPool importing{{.threads = static_cast<size_t>(config.import.at_once), .queue_limit_jobs = 64}};
  WorkerPool hashing{{.threads = kHashingWorkers, .queue_limit_jobs = 1024}};
  WorkerTurns looking{{.threads = kLookingWorkers, .queue_limit_jobs = 8192}};  // twice what HeldSources holds
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<ExpiryClock> expiry_clock;
  std::unique_ptr<AuditRetention> audit_retention;
  std::unique_ptr<AuditedCalls> call_observer;
  StorageHealth health;
  StorageLimits storage_limits;
  StreamLimits stream_limits{storage_limits};
  AnswerCache answers;
  ColumnCache trace_columns{config.query.trace_cache_bytes};
  PartPool trace_parts{trace_columns};
  QueryFunctions trace_functions;
  std::stop_source stop;  // of background work
  std::unique_ptr<LaunchSetup> launch_setup;
  std::unique_ptr<DeviceSetup> device_setup;
  std::unique_ptr<CeilingBook> ceilings;
  UserNames user_names{loop};
  std::shared_ptr<void> device_events;  // while it is there they are listened to
  HeldSources sources{loop};
  ImportContext imports{ImportTrace, SetPartRank, ImportLimitsOf(config), sources, importing, hashing,
                        &looking,    LookAtTrace};
  std::unique_ptr<Runs> runs;
  std::unique_ptr<RevokedAccess> revoked_access;
  std::unique_ptr<StorageRoom> storage_room;
  std::string room_trouble;         // io loop; empty: none
  IoLoop::Timer enforce_again;      // io loop
  IoLoop::Timer close_parts_again;  // io loop
  std::unique_ptr<ServiceContext> rpc;
  std::unique_ptr<CallerServers> servers;
  std::unique_ptr<LocalAcceptor> acceptor;
  std::unique_ptr<SideSocketHandler> side_socket_handler;
  std::unique_ptr<WebThread> web;
  std::unique_ptr<RemoteClients> remote;
  std::thread io_thread;
  std::unique_ptr<Watchdog> watchdog;  // goes first: it asks those above; none: nobody watches

  // Runs `task` on the loop and waits until it calls what it is given.
  void OnLoop(const std::function<void(std::function<void()>)>& task) {
    std::promise<void> done;
    loop.Post([&] { task([&] { done.set_value(); }); });
    done.get_future().wait();
  }

  void SetHealth(std::string text) {
    health.text = std::move(text);
    catalog->changes().Bump();
  }

  StartRights Rights() const;
  Status Build(ServiceManager& manager);
  Status BuildExpiry();
  Status FindDevices();
  Status Listen(InheritedSockets& sockets);
  void TakeIn(const LocalAcceptor::Peer& peer, UniqueFd connection);
  void BeginWatchdog(const ServiceManager& manager);
  void RecordOwn(const char* action, const std::string& detail, ErrorCode outcome = ErrorCode::kOk);
  Status BeginWeb(const HttpAddress& address);
  void BeginBackgroundWork();
  void CloseOldParts();
  void Reload(const Config& wanted);
  void StopAll();
};

Status Daemon::Rooms::Build(ServiceManager& manager) {
  auto connection_of = [this](uint32_t uid, const std::vector<uint32_t>& groups, uint64_t before) {
    return servers ? servers->DuplicateConnection(uid, groups, before) : CallerConnection();
  };
  ASSIGN_OR_RETURN(launch_setup, LaunchSetup::Build(config, loop, run_files, connection_of, metrics.all));
  imports.limits.own = launch_setup->own_children();
  RETURN_IF_ERROR(FindDevices());
  Catalog::Options catalog_options{.layout = Layout{config.state_folder}};
  catalog_options.writer.on_commit = [this](int64_t took_ns, size_t changes, const Status& status) {
    metrics.storage.OnCommit(took_ns, changes, status);
    if (status.code() == ErrorCode::kStorageFull) loop.Post([this] { storage_room->LookSoon(); });
  };
  ASSIGN_OR_RETURN(catalog, Catalog::Open(catalog_options, *files));
  metrics.storage.LookAt(*catalog, *files);
  storage_room = std::make_unique<StorageRoom>(loop, bulk, *catalog, *files, [this](const Status&, bool is_full) {
    room_trouble = is_full ? "the disk of the state folder is full" : "";
    catalog->changes().Bump();
  });
  metrics.all.BeforeText([this] { metrics.trace_cache_bytes.Set(static_cast<double>(trace_columns.size_bytes())); });
  audit = std::make_unique<AuditLog>(loop, clock, catalog->writer(), metrics.all);
  call_observer = std::make_unique<AuditedCalls>(*audit, metrics.rpcs);
  RETURN_IF_ERROR(BuildExpiry());
  if (catalog->restored()) {
    LogWarning("a restore of the catalog that was interrupted is complete",
               {{"replaced", catalog->restored()->replaced}});
  }
  const bool is_backup = catalog->is_backup();  // until its runs are seen to
  ASSIGN_OR_RETURN(RecoveredRuns recovered, RecoverRuns(*catalog, *files, clock));
  device_setup->Await(DevicesOf(recovered));
  storage_limits.Set(StorageLimitsOf(config));
  std::string last_id;
  {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog->readers().Borrow());
    ASSIGN_OR_RETURN(last_id, ReadLastRunId(*reader));
    ASSIGN_OR_RETURN(std::vector<CeilingRow> known, ReadCeilings(*reader));
    ceilings = std::make_unique<CeilingBook>(loop, *catalog, std::move(known));
  }
  RunContext run_context{loop,
                         clock,
                         workers,
                         run_files,
                         outputs,
                         *files,
                         *catalog,
                         launch_setup->launcher(),
                         devices,
                         config.output,
                         &metrics.runs,
                         launch_setup->grants(),
                         &storage_limits,
                         launch_setup->intake()};
  run_context.outputs = OutputsPolicyOf(config);
  run_context.draw_charts = MakeDrawRunCharts(*files, *catalog, trace_parts);
  run_context.client_outputs = launch_setup->client_outputs();
  run_context.expiry_clock = expiry_clock.get();
  run_context.imports = &imports;
  run_context.trace_parts = &trace_parts;
  run_context.node_devices = &device_setup->devices();
  run_context.user_names = &user_names;
  run_context.tool_path = VendorToolFolders(config.devices);
  run_context.ncu_folder = NcuFolderOf(config);
  Result<std::string> boot_id = ReadBootId(*files);
  if (boot_id.ok()) {
    run_context.boot_id = *boot_id;
    RETURN_IF_ERROR(device_setup->BeginHolding(*boot_id));
    run_context.clocks = device_setup->clocks();
    run_context.profiler_pause = device_setup->profiler_pause();
  } else {
    LogWarning("what runs left on devices is not forgotten at a reboot", {{"error", boot_id.status().ToString()}});
  }
  Runs::Options run_options;
  run_options.queue = config.queue;
  run_options.retention = config.retention;
  run_options.longest_run_ms = config.longest_run_ms;
  run_options.imports_at_once = static_cast<size_t>(config.import.at_once);
  run_options.account_of = [this](uint32_t uid) { return AccountOf(config.access, uid); };
  run_options.why_revoked = [this](const Actor& who, const std::vector<gid_t>& groups) {
    return WhyRevoked(Rights(), who, groups);
  };
  run_options.sessions.limits = config.sessions;
  run_options.sessions.account_of = run_options.account_of;
  metrics.devices.Follow({loop, devices, device_setup->devices(), device_setup->clocks()});
  metrics.all.BeforeText([this] { metrics.devices.LookNow(kDeviceMetricsLimitNs); });
  runs = std::make_unique<Runs>(run_context, run_options, last_id, std::move(recovered));
  revoked_access = std::make_unique<RevokedAccess>(loop, workers, *catalog, *runs, *audit);
  const bool is_system = config.mode == Mode::kSystem;
  NodeInfo node{HostName(),
                DaemonVersion(),
                is_system ? "system" : "user",
                config.socket_path,
                clock.unix_ns(),
                VendorToolFolders(config.devices),
                launch_setup->own_children()};
  rpc = std::make_unique<ServiceContext>(ServiceContext{loop,
                                                        clock,
                                                        workers,
                                                        bulk,
                                                        queries,
                                                        *files,
                                                        *catalog,
                                                        devices,
                                                        *runs,
                                                        stream_limits,
                                                        answers,
                                                        health,
                                                        *audit,
                                                        trace_columns,
                                                        trace_parts,
                                                        trace_functions,
                                                        std::move(node),
                                                        launch_setup->client_launcher(),
                                                        launch_setup->helper_watch(),
                                                        &sources,
                                                        SpoolLimitsOf(config),
                                                        &device_setup->devices(),
                                                        &device_setup->peaks(),
                                                        device_setup->clocks(),
                                                        ceilings.get(),
                                                        &user_names});
  CallerServers::PrepareProcess();
  ASSIGN_OR_RETURN(servers, CallerServers::Create(*rpc, config.connections, call_observer.get()));

  auto connected = [this](const Caller& caller, UniqueFd connection) { servers->Serve(caller, std::move(connection)); };
  ASSIGN_OR_RETURN(remote,
                   RemoteClients::Start(loop, config.listen, connected, metrics.connections, metrics.first_tls_expiry));
  if (config.http) RETURN_IF_ERROR(BeginWeb(*config.http));
  // Last: whoever finds its socket finds all of it.
  RETURN_IF_ERROR(Listen(manager.sockets));
  io_thread = std::thread([this] {
    pthread_setname_np(pthread_self(), "kprofd-io");
    loop.Run();
  });
  loop.Post([this, is_backup] {
    if (is_backup) RecordOwn(audit::kRestore, "the catalog is that of a backup");
    RecordOwn(audit::kStart, DaemonVersion());
    expiry_clock->Begin();
    audit_retention->SetPolicy(config.audit);
    CloseOldParts();
    // Before anything starts: settings may have changed while nobody was here.
    revoked_access->Enforce(Rights(), [this] {
      if (stop.stop_requested()) return;
      runs->Begin();
      launch_setup->Begin([this](const std::string& run_id) { return runs->FindOpenRow(run_id) != nullptr; });
    });
  });
  BeginBackgroundWork();
  BeginWatchdog(manager);
  return OkStatus();
}

// What a session was promised devices for is known only when they are.
Status Daemon::Rooms::FindDevices() {
  ASSIGN_OR_RETURN(device_setup, DeviceSetup::Find({config, loop, *files, devices, *launch_setup}));
  const auto show = [this] {
    const std::shared_ptr<const DeviceList> list = devices.now();
    for (const Device& device : list->all()) metrics.runs.ShowDevice(device.id);
  };
  device_events = device_setup->devices().Listen([this, show](const DeviceEvent& /*event*/) {
    show();
    if (catalog) catalog->changes().Bump();
  });
  show();
  return OkStatus();
}

// Before this start leaves anything in the catalog: what is known of the time is from before it.
Status Daemon::Rooms::BuildExpiry() {
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog->readers().Borrow());
  ASSIGN_OR_RETURN(const std::optional<int64_t> known_ns, ReadKnownTime(*reader));
  expiry_clock = std::make_unique<ExpiryClock>(loop, clock, catalog->writer(), known_ns);
  audit_retention =
      std::make_unique<AuditRetention>(AuditRetention::Context{loop, clock, bulk, *catalog, *expiry_clock}, metrics.all,
                                       [this](uint32_t uid) { return AccountOf(config.access, uid); });
  return OkStatus();
}

// What waits at a daemon of one's own is one's own, whatever the uid was when it was submitted.
StartRights Daemon::Rooms::Rights() const {
  StartRights wanted{config.access, config.listen.rules, {}};
  if (remote) {
    wanted.is_revoked = [credentials = remote->credentials()](const std::string& certificate_id) {
      return credentials->HasRevoked(certificate_id);
    };
  }
  if (config.mode == Mode::kUser) wanted.access.everyone = Role::kViewer;
  return wanted;
}

Status Daemon::Rooms::Listen(InheritedSockets& sockets) {
  auto connected = [this](const LocalAcceptor::Peer& peer, UniqueFd connection) {
    TakeIn(peer, std::move(connection));
  };
  const mode_t mode = config.mode == Mode::kSystem ? kSystemSocketMode : kOwnSocketMode;
  ASSIGN_OR_RETURN(UniqueFd passed_on, sockets.Take(kSocketName, SOCK_STREAM));
  if (passed_on.valid()) {
    ASSIGN_OR_RETURN(acceptor, LocalAcceptor::Adopt(loop, std::move(passed_on), connected));
  } else {
    ASSIGN_OR_RETURN(acceptor, LocalAcceptor::Listen(loop, config.socket_path, mode, connected));
  }
  ASSIGN_OR_RETURN(UniqueFd side, sockets.Take(kSocketName, SOCK_SEQPACKET));
  side_socket_handler = std::make_unique<SideSocketHandler>(
      loop, *launch_setup, sources,
      [this](uid_t uid, const std::vector<gid_t>& groups) { return CallerOf(config.access, uid, groups); });
  Status opened = side_socket_handler->Open(config.socket_path, mode, std::move(side));
  if (!opened.ok() && config.mode == Mode::kSystem) return opened;
  // A daemon of one's own starts its runs itself, and takes the bytes of what it is not handed.
  if (!opened.ok()) LogWarning("files to import are sent, not handed over", {{"error", opened.ToString()}});
  for (const std::string& name : sockets.left()) {
    LogWarning("a socket of the service manager is not served; who connects there waits", {{"name", name}});
  }
  return OkStatus();
}

void Daemon::Rooms::TakeIn(const LocalAcceptor::Peer& peer, UniqueFd connection) {
  const Caller caller = CallerOf(config.access, peer.uid, peer.groups);
  // Who may start nothing is the same everywhere, and takes nobody's place in the line.
  if (launch_setup->places() == nullptr || !caller.may_start) return servers->Serve(caller, std::move(connection));
  launch_setup->places()->Find(caller.account(), std::move(connection),
                               [this, peer](const Result<CallerPlace>& place, UniqueFd connection) {
                                 // Roles may be others by now.
                                 Caller caller = CallerOf(config.access, peer.uid, peer.groups);
                                 if (!place.ok()) {
                                   return servers->TurnAway(caller, place.status(), std::move(connection));
                                 }
                                 caller.place = *place;
                                 servers->Serve(caller, std::move(connection));
                               });
}

void Daemon::Rooms::BeginWatchdog(const ServiceManager& manager) {
  if (manager.watchdog_timeout_ns == 0) return;
  std::vector<WatchedPart> parts{WatchedLoop(loop), WatchedWriter(catalog->writer()), WatchedWorkers(workers)};
  watchdog = std::make_unique<Watchdog>(std::move(parts), manager.notifier);
  watchdog->Begin(manager.watchdog_timeout_ns);
}

void Daemon::Rooms::RecordOwn(const char* action, const std::string& detail, ErrorCode outcome) {
  AuditEntry entry;
  if (outcome != ErrorCode::kOk) entry.outcome = ErrorName(outcome);
  entry.by = DaemonFor(getuid());
  entry.action = action;
  entry.detail = detail;
  audit->Record(std::move(entry));
}

Status Daemon::Rooms::BeginWeb(const HttpAddress& address) {
  auto read_health = [this]() -> std::string {
    if (stop.stop_requested()) return "kprofd is stopping";
    return health.text == "ok" || health.text == "checking" ? room_trouble : health.text;
  };
  ASSIGN_OR_RETURN(web, WebThread::Start(clock, address, metrics.http, [&](WorkerPool& worker) {
                     HttpRoutes routes;
                     routes["/metrics"] = MetricsPage(metrics.all, worker);
                     routes["/healthz"] = HealthPage(loop, read_health);
                     return routes;
                   }));
  return OkStatus();
}

// Does what can wait until clients are served: the check of the catalog after a crash, and files of no run.
void Daemon::Rooms::BeginBackgroundWork() {
  loop.Post([this] { storage_room->Begin(); });
  const bool check = catalog->last_stop_was_unclean();
  if (check) {
    loop.Post([this] { SetHealth("checking"); });
  }
  std::string before_id = RunIdGenerator(clock, {}).Next();
  (void)bulk.Submit([this, check, before_id, token = stop.get_token()] {
    if (check) {
      Status checked = catalog->QuickCheck(token);
      if (!checked.ok()) LogError("the catalog is damaged", {{"error", checked.ToString()}});
      loop.Post([this, checked] { SetHealth(checked.ok() ? "ok" : checked.ToString()); });
    }
    Status put_away = PutStraysAway(*catalog, *files, clock, before_id, token);
    if (!put_away.ok()) LogWarning("files of no run were not put away", {{"error", put_away.ToString()}});
  });
}

// Again and again: nobody who asks of a trace is there to close it when it is asked of no more.
void Daemon::Rooms::CloseOldParts() {
  (void)bulk.Submit([this] {
    trace_parts.CloseOld();
    if (trace_columns.DropOld(ColumnCache::Clock::now() - kKeptColumns) > 0) malloc_trim(0);  // else it stays with us
  });
  close_parts_again = loop.After(kLookAtPartsMs * kNanosPerMilli, [this] { CloseOldParts(); });
}

void Daemon::Rooms::Reload(const Config& wanted) {
  const std::string later = SettingsForNextStart(config, wanted);
  std::string taken = SettingsTakenOver(config, wanted);
  if (taken.empty()) taken = "no setting has changed";
  if (!later.empty()) LogWarning("some settings wait for the next start", {{"settings", later}});
  if (wanted.access != config.access) {
    config.access = wanted.access;
    // Whoever stays who they were is not disturbed.
    servers->EndServers([this](const Caller& caller) {
      Caller now = CallerOf(config.access, caller.uid, caller.groups);
      now.place = caller.place;
      return caller.certificate.empty() && !(now == caller);
    });
  }
  config.connections = wanted.connections;
  const std::string listens_at = config.listen.address;
  config.listen = wanted.listen;
  // Off is off at once; any other address waits for the next start.
  if (!wanted.listen.address.empty()) config.listen.address = listens_at;
  servers->SetLimits(wanted.connections);
  if (launch_setup->places() != nullptr) launch_setup->places()->SetLimits(wanted.connections);
  if (wanted.retention != config.retention) {
    config.retention = wanted.retention;
    runs->retention().SetPolicy(wanted.retention);
  }
  config.storage = wanted.storage;
  storage_limits.Set(StorageLimitsOf(config));
  config.longest_run_ms = wanted.longest_run_ms;
  runs->SetLongestRun(wanted.longest_run_ms);
  revoked_access->Enforce(Rights());
  // And what calls that were under way still brought.
  enforce_again = loop.After(kCallsGraceMs * kNanosPerMilli, [this] { revoked_access->Enforce(Rights()); });
  config.log_level = wanted.log_level;
  SetLogLevel(wanted.log_level);
  config.audit = wanted.audit;
  audit_retention->SetPolicy(wanted.audit);
  RecordOwn(audit::kReload, taken + (later.empty() ? "" : "; for the next start: " + later));
  LogInfo("settings were read again");
}

void Daemon::Rooms::StopAll() {
  if (!io_thread.joinable()) return;
  watchdog.reset();  // from here on it is the time limit of the stop that counts
  stop.request_stop();
  if (remote) remote->StopListening();
  OnLoop([this](const std::function<void()>& done) {
    servers->AnnounceEnd();
    acceptor.reset();
    if (launch_setup->places() != nullptr) launch_setup->places()->Close();
    side_socket_handler->Close();
    runs->StopAll(kStopGraceMs, done);
  });
  servers->Shutdown(kCallsGraceMs);
  // Who holds them gives them back when we are gone; but where we are the first process of a container, or are stopped
  // by systemd, everybody else ends with us.
  OnLoop([this](const std::function<void()>& done) { device_setup->ReleaseClocks(kClocksGraceNs, done); });
  OnLoop([this](const std::function<void()>& done) { device_setup->ResumeProfilers(kClocksGraceNs, done); });
  audit->CloseRefusals();
  RecordOwn(audit::kStop, "");
  OnLoop([this](const std::function<void()>& done) {
    remote.reset();
    done();
  });
  // What calls left on the loop (their last post deletes them) runs before this stops it.
  loop.Post([this] { loop.Stop(); });
  io_thread.join();
}

Daemon::Daemon(std::unique_ptr<Rooms> rooms) : rooms_(std::move(rooms)) {}

Daemon::~Daemon() {
  Stop();
}

void Daemon::Stop() {
  rooms_->StopAll();
}

void Daemon::KillRuns() {
  rooms_->loop.Post([rooms = rooms_.get()] { rooms->runs->KillAll(); });
}

void Daemon::Reload(const Config& config, const std::shared_ptr<const TlsCredentials>& credentials) {
  if (rooms_->remote) rooms_->remote->Use(credentials, config.listen.limits);
  rooms_->loop.Post([rooms = rooms_.get(), known = WithSubordinates(config)] { rooms->Reload(known); });
}

void Daemon::RecordFailedReload(const Status& why) {
  rooms_->RecordOwn(audit::kReload, ClippedText(why.ToString(), AuditLog::kWhyLimitBytes), why.code());
}

Result<std::unique_ptr<Daemon>> Daemon::Start(const Config& config, ServiceManager& manager) {
  auto rooms = std::make_unique<Rooms>(WithSubordinates(config));
  Status built = rooms->Build(manager);
  if (!built.ok()) return built;
  return std::unique_ptr<Daemon>(new Daemon(std::move(rooms)));
}

}  // namespace kprof
