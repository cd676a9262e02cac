#include "daemon/ingest/nsys/nsys_tracks.h"

#include <utility>

namespace kprof {
namespace {

constexpr size_t kMostProcessNames = 1 << 20;
constexpr int64_t kNvtxThreadName = 39;

std::string Selected(const NsysTable& table, std::initializer_list<const char*> columns) {
  std::string sql = "SELECT ";
  for (const char* column : columns) {
    if (sql.size() > 7) sql += ", ";
    sql += table.Has(column) ? QuotedName(column) : "NULL";
  }
  return sql + " FROM " + QuotedName(table.name) + " NOT INDEXED";
}

}  // namespace

NsysProcesses::NsysProcesses(NsysDatabase& database, NsysStrings& strings) : database_(database), strings_(strings) {
  if (const NsysTable* capture = database.Find("META_DATA_CAPTURE")) {
    NsysQuery rows = database.Query(Selected(*capture, {"name", "value"}));
    while (rows.Next()) {
      all_profiled_ |= rows.Text(0) == "LINUX_PERF_OPTIONS:COLLECTION_MODE" && rows.Text(1) == "ProcessTree";
    }
  }
  ReadProcesses();
  ReadThreadNames();
  ReadNvtxNames();
}

void NsysProcesses::ReadProcesses() {
  const NsysTable* table = database_.Find("PROCESSES");
  if (table == nullptr) return;
  std::unordered_map<int64_t, int> machines;
  NsysQuery rows = database_.Query(Selected(*table, {"globalPid", "name"}));
  while (process_names_.size() < kMostProcessNames && rows.Next()) {
    process_names_.emplace(ProcessOf(rows.Integer(0)), rows.Text(1));
    const int64_t machine = rows.Integer(0) >> 48;
    if (++machines[machine] > machines[machine_]) machine_ = machine;
  }
}

void NsysProcesses::ReadThreadNames() {
  const NsysTable* table = database_.Find("ThreadNames");
  if (table == nullptr) return;
  NsysQuery rows = database_.Query(Selected(*table, {"globalTid", "nameId"}));
  while (thread_names_.size() < kMostProcessNames && rows.Next())
    thread_names_.emplace(rows.Integer(0), rows.Integer(1));
}

void NsysProcesses::ReadNvtxNames() {
  const NsysTable* table = database_.Find("NVTX_EVENTS");
  if (table == nullptr) return;
  NsysQuery rows = database_.Query(Selected(*table, {"eventType", "globalTid", "text", "textId"}));
  for (int64_t i = 0; i < database_.most_rows() && rows.Next(); ++i) {
    if (rows.Integer(0) != kNvtxThreadName || nvtx_names_.size() >= kMostProcessNames) continue;
    std::string name(rows.Text(2));
    if (name.empty()) name = strings_.Text(rows.Integer(3)).value_or("");
    if (!name.empty()) nvtx_names_.insert_or_assign(rows.Integer(1), std::move(name));
  }
}

std::optional<std::string> NsysProcesses::ProcessName(int64_t global) const {
  const auto found = process_names_.find(ProcessOf(global));
  if (found == process_names_.end() || !IsProfiled(global)) return std::nullopt;
  return found->second;
}

std::optional<std::string> NsysProcesses::ThreadName(int64_t global_tid) {
  if (!IsProfiled(global_tid)) return std::nullopt;
  if (const auto nvtx = nvtx_names_.find(global_tid); nvtx != nvtx_names_.end()) return nvtx->second;
  const auto found = thread_names_.find(global_tid);
  return found == thread_names_.end() ? std::nullopt : strings_.Text(found->second);
}

std::string NsysProcesses::PidText(int64_t global) const {
  const std::string pid = std::to_string(PidOf(global));
  const int64_t machine = global >> 48;
  return machine == machine_ || machine_ == 0 || machine == 0 ? pid : std::to_string(machine) + ":" + pid;
}

std::optional<int64_t> NsysProcesses::Correlation(int64_t global, int64_t correlation_id) {
  constexpr int64_t kMostProcesses = 1 << 20;
  if (correlation_id < 0 || correlation_id > int64_t{UINT32_MAX}) return std::nullopt;
  const auto [found, is_new] = numbers_.try_emplace(ProcessOf(global), static_cast<int64_t>(numbers_.size()));
  if (found->second >= kMostProcesses) return std::nullopt;
  return found->second << 32 | correlation_id;
}

int64_t NsysProcesses::GlobalOfPid(int64_t pid) const {
  return machine_ << 48 | (pid & 0xffffff) << 24;
}

namespace {

constexpr int64_t kNoStream = 0xffffffff;
constexpr size_t kMostDevices = 4096;

}  // namespace

NsysTracks::NsysTracks(NsysDatabase& database, BatchBuilder& batch, NsysProcesses& processes)
    : batch_(batch), processes_(processes) {
  const NsysTable* devices = database.Find("TARGET_INFO_CUDA_DEVICE");
  if (devices == nullptr || !devices->Has("gpuId") || !devices->Has("cudaId") || !devices->Has("pid")) return;
  NsysQuery rows = database.Query("SELECT \"pid\", \"cudaId\", \"gpuId\" FROM \"TARGET_INFO_CUDA_DEVICE\" NOT INDEXED");
  while (gpus_.size() < kMostDevices && rows.Next()) {
    if (!rows.IsNull(2)) gpus_.emplace(std::pair(rows.Integer(0), rows.Integer(1)), rows.Integer(2));
  }
}

template <typename Make>
uint32_t NsysTracks::Find(const Key& key, const Make& make) {
  if (!tracks_.empty() && key == last_) return last_track_;
  auto found = tracks_.find(key);
  if (found == tracks_.end()) {
    if (tracks_.size() >= kMostTracks) return Overflow();
    found = tracks_.emplace(key, make()).first;
  }
  last_ = key;
  last_track_ = found->second;
  return last_track_;
}

uint32_t NsysTracks::Overflow() {
  constexpr const char* kName = "further tracks";
  if (!overflow_) {
    overflow_ =
        batch_.AddTrack({TrackKey::Family::kAsync, 0, 0, batch_.Text(kName), 0}, {.kind = "other", .name = kName});
  }
  return *overflow_;
}

uint32_t NsysTracks::Thread(int64_t global_tid) {
  return Find({What::kThread, global_tid, 0, 0, 0, ""}, [&] {
    const std::string pid = processes_.PidText(global_tid);
    const std::string tid = std::to_string(TidOf(global_tid));
    return batch_.AddTrack({TrackKey::Family::kThread, batch_.Text(pid), batch_.Text(tid), 0, 0},
                           {.kind = "cpu_thread",
                            .name = processes_.ThreadName(global_tid).value_or(""),
                            .pid = pid,
                            .tid = tid,
                            .process = processes_.ProcessName(global_tid)});
  });
}

uint32_t NsysTracks::BesideThread(int64_t global_tid, std::string_view what) {
  return Find({What::kBeside, global_tid, 0, 0, 0, std::string(what)}, [&] {
    const std::string pid = processes_.PidText(global_tid);
    const std::string tid = std::to_string(TidOf(global_tid));
    const std::string thread = processes_.ThreadName(global_tid).value_or("");
    return batch_.AddTrack({TrackKey::Family::kAsync, batch_.Text(pid), 0, batch_.Text(what), batch_.Text(tid)},
                           {.kind = "other",
                            .name = std::string(what) + (thread.empty() ? "" : " of " + thread),
                            .pid = pid,
                            .tid = tid,
                            .process = processes_.ProcessName(global_tid)});
  });
}

uint32_t NsysTracks::OfProcess(int64_t global_pid, std::string_view kind, std::string_view what) {
  const bool has_process = global_pid != kNone;
  const int64_t process = has_process ? global_pid >> 24 : kNone;
  return Find({What::kProcess, process, 0, 0, 0, std::string(what)}, [&] {
    TrackRow row{.kind = std::string(kind), .name = std::string(what)};
    if (has_process) {
      row.pid = processes_.PidText(global_pid);
      row.process = processes_.ProcessName(global_pid);
    }
    const TrackKey key{TrackKey::Family::kAsync, batch_.Text(row.pid.value_or("")), 0, batch_.Text(what), 0};
    return batch_.AddTrack(key, std::move(row));
  });
}

std::optional<int64_t> NsysTracks::GpuOf(int64_t global_pid, int64_t device) const {
  const auto found = gpus_.find({PidOf(global_pid), device});
  if (found != gpus_.end()) return found->second;
  return device == kNone ? std::nullopt : std::optional(device);
}

uint32_t NsysTracks::Stream(int64_t global_pid, int64_t device, int64_t context, int64_t stream) {
  if (stream == kNoStream) stream = kNone;
  return Find({What::kStream, global_pid == kNone ? kNone : global_pid >> 24, device, context, stream, ""}, [&] {
    const std::optional<int64_t> gpu = GpuOf(global_pid, device);
    const std::string gpu_name = "GPU" + (gpu ? " " + std::to_string(*gpu) : "");
    const std::string context_name = context == kNone ? "" : " context " + std::to_string(context);
    const std::string stream_name = stream == kNone ? "" : " stream " + std::to_string(stream);
    const int64_t first = contexts_.try_emplace({PidOf(global_pid), device, stream}, context).first->second;
    TrackRow row{.kind = "gpu_stream", .device = gpu};
    row.name = gpu_name + (first == context && stream != kNone ? "" : context_name) + stream_name;
    row.tid = gpu_name + context_name + stream_name;
    if (stream != kNone) row.stream = stream;
    if (global_pid != kNone) {
      row.pid = processes_.PidText(global_pid);
      row.process = processes_.ProcessName(global_pid);
    }
    const TrackKey key{TrackKey::Family::kThread, batch_.Text(row.pid.value_or("")), batch_.Text(*row.tid), 0, 0};
    return batch_.AddTrack(key, std::move(row));
  });
}

uint32_t NsysTracks::Counter(std::string_view name, std::string_view series, std::optional<int64_t> device) {
  return Find({What::kCounter, device.value_or(kNone), 0, 0, 0, std::string(name) + '\n' + std::string(series)}, [&] {
    const uint32_t of_device = device ? batch_.Text("GPU " + std::to_string(*device)) : 0;
    TrackRow row{.kind = "counter", .device = device};
    row.name = name;
    return batch_.AddTrack({TrackKey::Family::kCounter, of_device, 0, batch_.Text(name), batch_.Text(series)},
                           std::move(row));
  });
}

}  // namespace kprof
