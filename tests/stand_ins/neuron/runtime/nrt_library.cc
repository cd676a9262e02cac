// libnrt for tests where no Neuron device is: the functions of its system traces with their real ABI, and executions
// that fill the rings. A ring for each NeuronCore holds the last events; a fetch consumes them. The events are those of
// the vendor's JSON: eleven keys in their order, the last only where it is set.
//
// KPROF_NRT_STAND_IN, words with commas between, says what goes wrong: start_fails, fetch_fails (each second one),
// broken_json (of each fetch), late (the trace starts only after nrt_init), lnc2.
//
// A test's program executes by stand_in_execute, of which libnrt has no like.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUninitialised = 13;
constexpr uint32_t kCores = 128;
constexpr const char* kTypes[] = {"nrt_execute",     "nrta_execute_schedule", "nrt_model_submit", "kbl_exec_pre",
                                  "nc_exec_running", "timestamp_sync_point",  "nrt_tensor_read",  "nrt_tensor_write"};

struct Config {
  uint64_t max_events = 1'000'000;
  bool cores[kCores];
  std::vector<std::string> off;  // types
  Config() { std::memset(cores, 1, sizeof cores); }
};

struct FetchOptions {
  uint64_t max_events = UINT64_MAX;
  uint64_t core = UINT64_MAX;  // all
};

struct Ring {
  std::deque<std::string> events;
};

std::mutex mutex;
bool is_initialised = false;
bool runs = false;
Config config;
Ring rings[kCores];
uint64_t next_id = 1;
uint64_t next_execution = 1;
uint64_t fetches = 0;

bool IsTold(const char* word) {
  const char* told = std::getenv("KPROF_NRT_STAND_IN");
  return told != nullptr && ("," + std::string(told) + ",").find("," + std::string(word) + ",") != std::string::npos;
}

uint64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// `data`: the members of its object. `sequence`: 0: it has none.
void Put(const char* type, const char* phase, uint32_t core, uint64_t tracking, uint64_t at_ns, const std::string& data,
         uint64_t sequence) {
  if (!runs || !config.cores[core]) return;
  for (const std::string& off : config.off) {
    if (off == type) return;
  }
  std::string text = "{\"event_type\":\"" + std::string(type) + "\",\"phase\":\"" + phase +
                     "\",\"id\":" + std::to_string(next_id++) + ",\"nc_idx\":" + std::to_string(core) +
                     ",\"nc_local_id\":0" + ",\"tracking_id\":" + std::to_string(tracking) +
                     ",\"thread_id\":" + std::to_string(::syscall(SYS_gettid)) + ",\"worker_gid\":-1,\"data\":{" +
                     data + "},\"timestamp_ns\":" + std::to_string(at_ns);
  if (sequence > 0) text += ",\"nrta_seq_id\":" + std::to_string(sequence);
  std::deque<std::string>& ring = rings[core].events;
  ring.push_back(text + "}");
  while (ring.size() > config.max_events) ring.pop_front();
}

}  // namespace

extern "C" {

#define API __attribute__((visibility("default")))

API int nrt_init(int /*framework*/, const char* /*version*/, const char* /*fal*/) {
  const std::lock_guard lock(mutex);
  is_initialised = true;
  return kOk;
}

API int nrt_sys_trace_config_allocate(Config** out) {
  *out = new Config;
  return kOk;
}
API void nrt_sys_trace_config_set_defaults(Config* options) {
  *options = Config();
}
API void nrt_sys_trace_config_free(Config* options) {
  delete options;
}
API void nrt_sys_trace_config_set_max_events_per_nc(Config* options, uint64_t most) {
  options->max_events = most;
}
API void nrt_sys_trace_config_set_capture_enabled_for_nc(Config* options, uint32_t core, bool enabled) {
  if (core < kCores) options->cores[core] = enabled;
}
API int nrt_sys_trace_config_set_capture_enabled_for_event_type(Config* options, const char* type, bool enabled) {
  for (const char* known : kTypes) {
    if (std::strcmp(known, type) != 0) continue;
    if (!enabled) options->off.emplace_back(type);
    return kOk;
  }
  return kFailed;
}

API int nrt_sys_trace_get_event_types(const char*** out, size_t* count) {
  *count = sizeof kTypes / sizeof kTypes[0];
  *out = static_cast<const char**>(std::malloc(*count * sizeof(char*)));
  for (size_t i = 0; i < *count; ++i) (*out)[i] = ::strdup(kTypes[i]);
  return kOk;
}
API void nrt_sys_trace_free_event_types(const char** types, size_t count) {
  for (size_t i = 0; i < count; ++i) std::free(const_cast<char*>(types[i]));
  std::free(types);
}

API int nrt_sys_trace_start(Config* options) {
  const std::lock_guard lock(mutex);
  if (IsTold("start_fails")) return kFailed;
  if (IsTold("late") && !is_initialised) return kUninitialised;
  if (runs) return kFailed;
  config = *options;
  runs = true;
  return kOk;
}
API int nrt_sys_trace_stop() {
  const std::lock_guard lock(mutex);
  if (!runs) return kFailed;
  runs = false;
  for (Ring& ring : rings) ring.events.clear();
  return kOk;
}

API int nrt_sys_trace_fetch_options_allocate(FetchOptions** out) {
  *out = new FetchOptions;
  return kOk;
}
API void nrt_sys_trace_fetch_options_set_defaults(FetchOptions* options) {
  *options = FetchOptions();
}
API void nrt_sys_trace_fetch_options_free(FetchOptions* options) {
  delete options;
}
API void nrt_sys_trace_fetch_options_set_max_events_per_nc(FetchOptions* options, uint64_t most) {
  options->max_events = most;
}
API void nrt_sys_trace_fetch_options_set_nc_idx(FetchOptions* options, uint64_t core) {
  options->core = core;
}

API int nrt_sys_trace_fetch_events(char** buffer, size_t* size, const FetchOptions* options) {
  const std::lock_guard lock(mutex);
  if (!runs) return kFailed;
  ++fetches;
  if (IsTold("fetch_fails") && fetches % 2 == 1) return kFailed;
  const FetchOptions usual;
  const FetchOptions& wanted = options == nullptr ? usual : *options;
  std::string text = "{\"events\":[";
  bool is_first = true;
  for (uint32_t core = 0; core < kCores; ++core) {
    if (wanted.core != UINT64_MAX && wanted.core != core) continue;
    for (uint64_t taken = 0; taken < wanted.max_events && !rings[core].events.empty(); ++taken) {
      text += (is_first ? "" : ",") + rings[core].events.front();
      rings[core].events.pop_front();
      is_first = false;
    }
  }
  text += "],\"data_version\":2}";
  if (IsTold("broken_json") && !is_first) text.resize(text.size() - 20);
  *buffer = static_cast<char*>(std::malloc(text.size() + 1));
  std::memcpy(*buffer, text.c_str(), text.size() + 1);
  *size = text.size();
  return kOk;
}
API void nrt_sys_trace_buffer_free(char* buffer) {
  std::free(buffer);
}

// One execution that takes `device_ns`: synchronous, or scheduled, and then its number is returned. With lnc2 it runs
// on two physical cores, the second a little later.
API uint64_t stand_in_execute(uint32_t core, uint64_t device_ns, int is_async, const char* model) {
  uint64_t execution = 0;
  {
    const std::lock_guard lock(mutex);
    is_initialised = true;
    execution = next_execution++;
  }
  const uint64_t tracking = execution | static_cast<uint64_t>(core) << 50;
  const uint64_t sequence = is_async != 0 ? execution : 0;
  const char* call = is_async != 0 ? "nrta_execute_schedule" : "nrt_execute";
  const uint64_t begun_ns = NowNs();
  timespec wait{static_cast<time_t>(device_ns / 1'000'000'000), static_cast<long>(device_ns % 1'000'000'000)};
  if (is_async == 0) ::nanosleep(&wait, nullptr);
  const uint64_t ended_ns = is_async != 0 ? begun_ns + 20'000 : NowNs() + 10'000;
  const std::string name = "\"model_name\":\"" + std::string(model) + "\"";
  const std::lock_guard lock(mutex);
  Put(call, "start", core, tracking, begun_ns, name, sequence);
  for (uint32_t physical = 0; physical < (IsTold("lnc2") ? 2U : 1U); ++physical) {
    const uint64_t at_ns = begun_ns + 5'000 + physical * 100;
    const uint64_t device_clock = 777'000'000 + at_ns % 1'000'000'000'000 + physical * 12'345;
    const uint64_t of_core = tracking | static_cast<uint64_t>(physical) << 60;
    Put("nc_exec_running", "start", core, of_core, at_ns,
        "\"device_core_idx\":" + std::to_string(physical) + ",\"exec_id\":" + std::to_string(execution) +
            ",\"nc_timestamp_ns\":" + std::to_string(device_clock) + ",\"model_id\":10001," + name,
        sequence);
    Put("nc_exec_running", "stop", core, of_core, at_ns + device_ns,
        "\"nc_timestamp_ns\":" + std::to_string(device_clock + device_ns), sequence);
  }
  Put(call, "stop", core, tracking, ended_ns, "", sequence);
  return sequence;
}

}  // extern "C"
