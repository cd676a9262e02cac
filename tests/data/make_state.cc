// make_state FOLDER: writes an example of a state folder as today's code keeps it, killed (kill -9) at a busy moment.
// FOLDER must not exist. See README.md. Everything in it is made up; the same files each time, but for what SQLite puts
// in its header.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "daemon/launch/output_log.h"
#include "daemon/runs/command/launch_spool.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/command/run_folder.h"
#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"
#include "storage/crypto/sha256.h"
#include "storage/db/db.h"

namespace kprof {
namespace {

constexpr OutputLimits kLimits{.head_bytes = 100, .tail_bytes = 4096};
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'750'000'000 * kSecond;

void Require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "make_state: %s\n", status.ToString().c_str());
  std::exit(1);
}

// What the commands print: so many bytes of "line 00000\n", "line 00001\n"...
std::string Lines(int64_t begin, int64_t end) {
  std::string text;
  for (int64_t line = begin / 11; line * 11 < end; ++line) {
    const std::string number = std::to_string(line);
    text += "line " + std::string(5 - number.size(), '0') + number + "\n";
  }
  return text.substr(static_cast<size_t>(begin % 11), static_cast<size_t>(end - begin));
}

class State {
 public:
  explicit State(const std::string& folder) : layout_{folder} {
    for (const std::string& path : {folder, layout_.RunsFolder(), layout_.SpoolFolder()}) {
      Require(files_->CreateFolder(path));
    }
    Result<Db> db = Db::Open(layout_.CatalogPath(), {.mode = Db::Mode::kReadWrite});
    Require(db.status());
    db_ = std::make_unique<Db>(*std::move(db));
    Require(MakeCatalog(*db_));
    Require(db_->Execute("UPDATE facts SET value = 0 WHERE name = 'clean_stop'"));
  }

  // A run that was queued so many seconds after the first one, with what most have.
  static RunRow Run(const std::string& id, int64_t after_s) {
    RunRow run;
    run.id = id;
    run.uid = 1000;
    run.tool = "command";
    run.argv = {"/bin/sh", "-c", "true"};
    run.cwd = "/";
    run.environment = {{"OMP_NUM_THREADS", "4"}};
    run.devices = {"cpu"};
    run.queued_ns = kBegin + after_s * kSecond;
    return run;
  }
  static void Start(RunRow& run) { run.started_ns = run.queued_ns + kSecond / 2; }
  static void End(RunRow& run, const std::optional<Status>& error) { SetEnd(run, error, run.queued_ns + 2 * kSecond); }

  RunFiles Folder(const RunRow& run) {
    Result<RunFiles> made = CreateRunFolder(*files_, layout_, run.id);
    Require(made.status());
    return *std::move(made);
  }

  // What a command prints, and its logs finished; without `finish`, as they are while it runs.
  void Print(RunRow& run, int64_t stdout_bytes, int64_t stderr_bytes, bool finish = true) {
    {
      RunFiles open = Folder(run);
      Write(open.stdout_log->fd(), open.progress->fd(), OutputStream::kStdout, stdout_bytes);
      Write(open.stderr_log->fd(), open.progress->fd(), OutputStream::kStderr, stderr_bytes);
    }
    if (!finish) return;
    Result<Collected> collected = CollectRunFolder(*files_, layout_, run.id, false);
    Require(collected.status());
    run.stdout_bytes = collected->stdout_log.printed_bytes;
    run.stdout_dropped_bytes = collected->stdout_log.dropped_bytes;
    run.stderr_bytes = collected->stderr_log.printed_bytes;
    run.stderr_dropped_bytes = collected->stderr_log.dropped_bytes;
    run.artifacts = collected->artifacts;
  }

  std::string Read(const RunRow& run, std::string_view name) {
    Result<std::string> content = ReadWholeFile(*files_, layout_.ArtifactPath(run.id, name), 1 << 20);
    Require(content.status());
    return *content;
  }
  void Put(const RunRow& run, std::string_view name, std::string_view content) {
    Require(files_->Remove(layout_.ArtifactPath(run.id, name)));
    Result<std::unique_ptr<File>> file = files_->Create(layout_.ArtifactPath(run.id, name));
    Require(file.status());
    Require((*file)->Append(content));
  }

  void Spool(const RunRow& run) {
    LaunchRequest request;
    request.argv = run.argv;
    request.environment = {"PATH=/usr/bin:/bin", "GREETING=hello", "OMP_NUM_THREADS=4"};
    request.cwd = run.cwd;
    request.umask = 077;
    request.limits = {{.resource = 4, .soft = 0, .hard = 0}};  // RLIMIT_CORE
    Require(WriteSpool(*files_, layout_, run.id, request));
  }

  void Insert(const RunRow& run) { Require(InsertRun(*db_, run)); }
  void Insert(const SessionRow& session) { Require(InsertSession(*db_, session)); }
  void Execute(const std::string& sql) { Require(db_->Execute(sql.c_str())); }

 private:
  static void Write(int log_fd, int progress_fd, OutputStream stream, int64_t bytes) {
    OutputLogWriter writer(log_fd, progress_fd, stream, kLimits);
    for (int64_t at = 0; at < bytes; at += 500) writer.Write(Lines(at, std::min(bytes, at + 500)));
  }

  const Layout layout_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
  std::unique_ptr<Db> db_;
};

// Ended runs: of each end one.
void AddEnded(State& state) {
  RunRow done = State::Run("1jxt21q00d0ne000", 0);
  done.argv = {"/bin/sh", "-c", "make report.txt"};
  done.labels = {{"branch", "main"}, {"size", "4096"}};
  done.devices = {"0", "1"};
  done.pinned = done.shared = true;
  done.idempotency_key = "first";
  done.timeout_ms = 60'000;
  done.queue_timeout_ms = 5'000;
  done.clocks = "lock=1500";
  done.cool_down_ms = 90'000;
  done.exclusive = true;
  done.verdict = RunVerdict{"FASTER", 0.5, 0.25, 0.75, {"drift", "bimodal"}};
  State::Start(done);
  State::End(done, std::nullopt);
  done.exit_code = 0;
  state.Print(done, 6000, 22);
  state.Put(done, "report.txt", "all is well\n");
  done.artifacts.push_back({"report.txt", 12, Sha256Of(std::string("all is well\n")), "out/report.txt"});
  done.trust = {{"clocks_unlocked", "clocks were not locked"}, {"shared_gpu", "others used GPU 0"}};
  done.metrics = {{.name = "wall_ms", .value = 1500, .unit = "ms"},
                  {.name = "gpu_ms", .value = 0.125, .unit = "ms", .kernel = "gemm", .launch = 0},
                  {.name = "gpu_ms", .value = 0.25, .unit = "ms", .kernel = "gemm", .launch = 1}};
  state.Insert(done);

  RunRow failed = State::Run("1jxt220rgfa11000", 10);
  State::Start(failed);
  State::End(failed, Fail(ErrorCode::kCommandFailed, "run " + failed.id, "the command ended with exit code 3"));
  failed.exit_code = 3;
  state.Print(failed, 0, 33);
  state.Insert(failed);

  RunRow timed_out = State::Run("1jxt22ah0t1me000", 20);
  State::Start(timed_out);
  State::End(timed_out, Fail(ErrorCode::kTimedOut, "run " + timed_out.id, "it ran longer than 1 s", "give it more"));
  timed_out.signal = 9;
  timed_out.timeout_ms = 1000;
  state.Insert(timed_out);

  RunRow cancelled = State::Run("1jxt22m9gcance00", 30);
  State::End(cancelled, Fail(ErrorCode::kCancelled, "run " + cancelled.id, "it was cancelled"));
  state.Insert(cancelled);
}

// An import that is done. Its part's file is not here: that format has examples of its own.
void AddImported(State& state) {
  RunRow imported = State::Run("1jxt22xm01mp0rt0", 35);
  imported.tool = "import";
  imported.argv = {"import", "worker3.json.gz"};
  imported.environment.clear();
  imported.devices.clear();
  State::Start(imported);
  State::End(imported, std::nullopt);
  TracePartRow part;
  part.name = "rank3";
  part.rank = part.asked_rank = 3;
  part.source_name = "worker3.json.gz";
  part.source_format = "kineto";
  part.source_bytes = 2000;
  part.source_hash = "2000-0123456789abcdef0123456789abcdef";
  part.asked_format = "auto";
  part.bytes = 900;
  part.slices = 50;
  part.instants = 4;
  part.counters = 3;
  part.flows = 2;
  part.tracks = 1;
  imported.trace = {part};
  state.Insert(imported);
}

// Runs in flight, as kill -9 of the daemon and its supervisors leaves them.
void AddLost(State& state) {
  RunRow preparing = State::Run("1jxt22y20prep000", 40);
  preparing.state = RunState::kPreparing;
  state.Spool(preparing);
  state.Insert(preparing);

  // Within a write of 500 bytes into the ring: half of them are there, none is noted.
  RunRow running = State::Run("1jxt237tgrvnn000", 50);
  running.state = RunState::kRunning;
  State::Start(running);
  state.Print(running, 6000, 44, false);
  std::string log = state.Read(running, kStdoutName);
  for (int64_t at = 6000; at < 6250; ++at) {
    const int64_t place = kLimits.head_bytes + (at - kLimits.head_bytes) % kLimits.tail_bytes;
    log[static_cast<size_t>(place)] = Lines(at, at + 1)[0];
  }
  state.Put(running, kStdoutName, log);
  std::string progress = state.Read(running, kProgressName);
  const auto claimed =
      EncodeOutputProgress({.limits = kLimits, .claimed_bytes = 6500, .written_bytes = 6000, .printed_bytes = 6000});
  std::copy(claimed.begin(), claimed.end(), progress.begin());
  state.Put(running, kProgressName, progress);
  state.Insert(running);

  // Between the note that stdout.log is finished and its rename; a file of the command's own lies beside it.
  RunRow collecting = State::Run("1jxt23hk0c011000", 60);
  collecting.state = RunState::kCollecting;
  State::Start(collecting);
  collecting.exit_code = 0;
  state.Print(collecting, 5000, 0, false);
  const std::string raw = state.Read(collecting, kStdoutName);
  std::string before = state.Read(collecting, kProgressName);
  const int64_t dropped = 5000 - kLimits.head_bytes - kLimits.tail_bytes;
  const std::string marker = "\n[kprof: " + std::to_string(dropped) + " bytes dropped here]\n";
  const std::string finished = Lines(0, 100) + marker + Lines(5000 - 4096, 5000);
  const auto noted = EncodeOutputProgress({.limits = kLimits,
                                           .claimed_bytes = 5000,
                                           .written_bytes = 5000,
                                           .printed_bytes = 5000,
                                           .finished_size_bytes = finished.size(),
                                           .finished_dropped_bytes = static_cast<uint64_t>(dropped)});
  std::copy(noted.begin(), noted.end(), before.begin());
  state.Put(collecting, kProgressName, before);
  state.Put(collecting, std::string(kStdoutName) + ".partial", finished);
  state.Insert(collecting);
}

void AddQueued(State& state) {
  RunRow queued = State::Run("1jxt23vbgqveve00", 70);
  queued.argv = {"/bin/sh", "-c", "echo \"$GREETING\"; umask; pwd"};
  queued.labels = {{"kept", "yes"}};
  state.Spool(queued);
  state.Insert(queued);
}

// Sessions in each state, the open one with a round that ended and one that waits; and what was done to them.
void AddSessions(State& state) {
  SessionRow session;
  session.uid = 1000;
  session.clocks = "none";
  session.devices = {"cpu"};
  auto add = [&](const std::string& id, int64_t after_s, SessionState as) {
    session.id = id;
    session.state = as;
    session.opened_ns = kBegin + after_s * kSecond;
    state.Insert(session);
  };
  session.ttl_ms = 3'600'000;
  session.idle_timeout_ms = 600'000;
  session.granted_ns = kBegin + 81 * kSecond;
  // Long after kBegin: a start finds it open.
  session.expires_ns = 4'000'000'000 * kSecond;
  session.last_round = 2;
  session.labels = {{"loop", "7"}};
  session.clocks = "lock=1500";
  session.trust = {{"clocks_not_locked", "the session asks for clocks 'lock=1500', and this version locks none"}};
  add("1jxt24500s0pen00", 80, SessionState::kOpen);
  session.labels.clear();
  session.trust.clear();
  session.clocks = "none";
  session.last_round = 0;
  session.expires_ns = kBegin + 3690 * kSecond;
  add("1jxt24cwgsc10s00", 84, SessionState::kClosing);
  session.closed_ns = kBegin + 95 * kSecond;
  session.error =
      RunError{"timed_out", "session 1jxt24hkrsc10sed: its TTL of 5 s has passed", "give it more with --ttl"};
  add("1jxt24hkrsc10sed", 88, SessionState::kClosed);
  session.error = RunError{"lost_daemon", "session 1jxt24mxgs10st00: kprofd ended under it", "open another"};
  session.attached = true;
  session.ttl_ms = session.idle_timeout_ms = 0;
  session.expires_ns.reset();
  add("1jxt24mxgs10st00", 91, SessionState::kLost);
  session.error.reset();
  session.closed_ns.reset();
  session.granted_ns.reset();
  session.priority = 3;
  session.queue_timeout_ms = 60'000;
  add("1jxt24q60sqvevex", 93, SessionState::kQueued);

  RunRow first = State::Run("1jxt24rzgr0vnd01", 95);
  first.session_id = "1jxt24500s0pen00";
  first.round = 1;
  State::Start(first);
  State::End(first, std::nullopt);
  first.exit_code = 0;
  state.Insert(first);
  RunRow second = State::Run("1jxt24tp0r0vnd02", 97);
  second.session_id = first.session_id;
  second.round = 2;
  second.priority = 5;
  state.Spool(second);
  state.Insert(second);
  state.Execute(
      "INSERT INTO audit (time_ns, uid, caller, action, session_id, devices, outcome) "
      "VALUES (1750000081000000000, 1000, 'local', 'open_session', '1jxt24500s0pen00', 'cpu', 'ok')");
}

// Processes of the run that timed out may use device 0 still.
void AddLeftover(State& state) {
  state.Execute(
      "INSERT INTO leftovers (device, run_id, boot_id) "
      "VALUES ('0', '1jxt22ah0t1me000', '00000000-0000-4000-8000-000000000001')");
}

void AddCeiling(State& state) {
  state.Execute(
      "INSERT INTO ceilings (device, quantity, dtype, accumulate, unit, value, run_id, uid, time_ns, clocks, doubts, "
      "device_name) "
      "VALUES ('GPU-1', 'dense_rate', 'bf16', 'fp32', 'TFLOP/s', 780.5, '1jxt21q00d0ne000', 1000, "
      "1750000090000000000, 'lock', 'power_capped', 'NVIDIA H200')");
  state.Execute("UPDATE run_devices SET key = 'GPU-' || device WHERE run_id = '1jxt21q00d0ne000' AND device = '1'");
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  if (argc != 2 || std::filesystem::exists(argv[1])) {
    std::fprintf(stderr, "usage: make_state FOLDER (which must not exist)\n");
    return 2;
  }
  kprof::State state(argv[1]);
  kprof::AddEnded(state);
  kprof::AddImported(state);
  kprof::AddLost(state);
  kprof::AddQueued(state);
  kprof::AddSessions(state);
  kprof::AddLeftover(state);
  kprof::AddCeiling(state);
  return 0;
}
