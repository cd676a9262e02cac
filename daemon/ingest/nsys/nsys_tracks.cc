#include "daemon/ingest/nsys/nsys_tracks.h"

#include <utility>

namespace kprof {
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
