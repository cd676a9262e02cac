#include "daemon/ingest/nsys/nsys_facts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/text/environment_text.h"
#include "daemon/ingest/text/json_text.h"
#include "daemon/ingest/text/private_names.h"

namespace kprof {
namespace {

constexpr size_t kMostFactBytes = 1 << 20;
constexpr size_t kLongestValue = 4096;
constexpr int64_t kMostPairs = 100'000;

// Whole tables, each a list of objects; of some only these columns.
struct TableFact {
  std::string_view fact;
  std::string_view table;
  std::vector<std::string_view> columns;  // empty: all but those of an environment, a user, a host or a command line
};
const TableFact kTables[] = {
    {"source.gpu", "TARGET_INFO_GPU", {}},
    {"source.cuda_devices", "TARGET_INFO_CUDA_DEVICE", {}},
    {"source.cuda_contexts", "TARGET_INFO_CUDA_CONTEXT_INFO", {}},
    {"source.cuda_streams", "TARGET_INFO_CUDA_STREAM", {}},
    {"source.session_start", "TARGET_INFO_SESSION_START_TIME", {}},
    {"source.analysis", "ANALYSIS_DETAILS", {}},
    {"source.nics", "TARGET_INFO_NIC_INFO", {"nicId", "name", "deviceId", "vendorId", "linkLayer", "stateName"}},
    {"source.gpu_metrics", "TARGET_INFO_GPU_METRICS", {}},
    {"source.nvtx_payload_schemas", "NVTX_PAYLOAD_SCHEMAS", {}},
    {"source.nvtx_payload_schema_entries", "NVTX_PAYLOAD_SCHEMA_ENTRIES", {}},
};

// Tables of names and values: those of these very names. What only begins alike may hold anything (TRACE_CMD).
struct PairsFact {
  std::string_view fact;
  std::string_view table;
  std::vector<std::string_view> names;
};
const PairsFact kPairs[] = {
    {"source.export",
     "META_DATA_EXPORT",
     {"EXPORT_PRODUCT_NAME",
      "EXPORT_PRODUCT_VERSION",
      "EXPORT_PRODUCT_DATE",
      "EXPORT_SCHEMA_VERSION",
      "EXPORT_SCHEMA_VERSION_MAJOR",
      "EXPORT_SCHEMA_VERSION_MINOR",
      "EXPORT_SCHEMA_VERSION_MICRO",
      "EXPORT_SCHEMA_VERSION_CKSUM",
      "EXPORT_PLATFORM",
      "EXPORT_ARCH",
      "EXPORT_TIME_UTC",
      "EXPORT_PARAM_LAZY",
      "EXPORT_PARAM_TIME_SHIFT",
      "EXPORT_PARAM_TIME_NORMALIZE",
      "EXPORT_PARAM_INCLUDE_JSON",
      "EXPORT_PARAM_INCLUDE_BLOBS",
      "EXPORT_PARAM_TABLES_TO_EXPORT",
      "EXPORT_PARAM_TIMES_TO_EXPORT",
      "EXPORT_CONFIG_TIME_SHIFT",
      "DERIVED_WINDOW_NS"}},
    {"source.capture",
     "META_DATA_CAPTURE",
     {"CAPTURE_EVENT_TYPE",
      "COLLECT_BLOCK_PHASE_TRACE",
      "COLLECT_BLOCK_TRACE",
      "COLLECT_CPU_TRACE",
      "COLLECT_CUDA_TRACE",
      "COLLECT_DX11_TRACE",
      "COLLECT_DX12_TRACE",
      "COLLECT_GL_WORKLOAD",
      "COLLECT_GPU_CTX_SW_TRACE",
      "COLLECT_GPU_MEMORY_USAGE",
      "COLLECT_NVMEDIA_TRACE",
      "COLLECT_NVTX_TRACE",
      "COLLECT_OPENSHMEM_TRACE",
      "COLLECT_SLI_EVENTS",
      "COLLECT_THREAD_STATE_TRACE",
      "COLLECT_UVM_CPU_PAGE_FAULTS",
      "COLLECT_UVM_GPU_PAGE_FAULTS",
      "COLLECT_VIDEO_API_TRACE",
      "COLLECT_VSYNC",
      "COLLECT_VULKAN_TRACE",
      "COLLECT_WARP_PHASE_TRACE",
      "COLLECT_WARP_TRACE",
      "COLLECT_WDDM_EVENTS",
      "CUDA_FLUSH_ON_CUDA_PROFILER_STOP",
      "CUDA_FLUSH_PERIOD",
      "CUDA_FLUSH_PERIODICALLY",
      "CUDA_GRAPH_TRACE_OPTIONS:MODE",
      "CUDA_GRAPH_TRACE_OPTIONS:TRACE_DEVICE_GRAPH_LAUNCH",
      "CUDA_SKIP_SOME_API_CALLS",
      "CUDA_TRACE_SCOPE",
      "OS_RUNTIME_OPTIONS:BACKTRACES_THRESHOLD_NS",
      "OS_RUNTIME_OPTIONS:COLLECT_BACKTRACES",
      "OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS",
      "NVTX_OPTIONS:NVTX_DOMAIN_FILTER_MODE_INCLUDE",
      "NVTX_OPTIONS:NVTX_DOMAIN_FILTER_STRING",
      "NVTX_OPTIONS:TRACE_NVTX_RANGE_HOT_KEY",
      "NVTX_OPTIONS:TRACE_NVTX_RANGE_HOT_KEY_VALUE",
      "LINUX_PERF_OPTIONS:COLLECTION_MODE",
      "LINUX_PERF_OPTIONS:COLLECT_CPU_CTXSW_TRACE",
      "LINUX_PERF_OPTIONS:COLLECT_EVENT_COUNTS",
      "LINUX_PERF_OPTIONS:COLLECT_IP_BACKTRACE_SAMPLES",
      "LINUX_PERF_OPTIONS:CPU_IP_SAMPLING_TRIGGER_EVENT_INDEX",
      "LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE",
      "LINUX_PERF_OPTIONS:EVENT_COUNT_INTERVAL_MS",
      "LINUX_PERF_OPTIONS:SAMPLES_PER_BACKTRACE",
      "LINUX_PERF_OPTIONS:SAMPLING_PERIOD",
      "START_DELAY_MS",
      "START_FRAME_VALUE",
      "START_TRIGGER",
      "STOP_TRIGGER",
      "RUN_DURATION_FRAMES",
      "RUN_DURATION_MS",
      "RATE_HZ",
      "POWER_RATE_SCAN_FREQ",
      "THREAD_STATE_SCAN_FREQ",
      "USE_DWARF",
      "USE_FRAME_POINTERS",
      "USE_LBRS",
      "USE_LINUX_PERF",
      "USE_UNWIND_TABLES",
      "SAMPLE_ALL_TASKS",
      "TRACE_AFTER_FORK_BEFORE_EXEC",
      "TRACE_ALL_TASKS",
      "INCLUDE_CHILDREN",
      "SHOW_BACKTRACE",
      "DEVICE_TYPE",
      "BANDWIDTH_RATE_HZ",
      "BANDWIDTH_VERSION",
      "HAS_ANNOTATIONS",
      "DISABLE_TIME_SYNC",
      "IN_APP_FREQ_MODE",
      "SYMBOL_RESOLUTION_OPTIONS:RESOLVE_SYMBOLS"}},
    {"source.system",
     "TARGET_INFO_SYSTEM_ENV",
     {"CpuCores", "CpuSpeedMhz", "CpuArchitecture", "CpuDescription", "HardwarePlatform", "SoftwarePlatform",
      "OsDescription", "OsVersion", "KernelVersion", "SoftwareReleaseVersion", "NvDriverVersion", "CudaDriverVersion",
      "OfedDriverVersion", "LinuxParanoidLevel"}},
};

constexpr std::string_view kSideTables[] = {
    "StringIds",
    "PROCESSES",
    "ThreadNames",
    "ProcessStreams",
    "ANALYSIS_FILE",
    "META_DATA_CAPTURE",
    "META_DATA_EXPORT",
    "TARGET_INFO_SYSTEM_ENV",
    "OSRT_FILE_ACCESS_DESCRIPTORS",
    "GENERIC_EVENT_TYPES",
    "GENERIC_EVENT_SOURCES",
};

void AppendValue(std::string& json, NsysSource& source, const NsysQuery& row, int column, const NsysColumn& of) {
  switch (row.Type(column)) {
    case SQLITE_INTEGER: {
      if (of.refers_to.starts_with(kEnumPrefix)) {
        const NsysEnums::Labels& labels = source.enums.Of(of.refers_to);
        const auto label = labels.find(row.Integer(column));
        if (label != labels.end()) return AppendJsonString(json, label->second);
      }
      json += std::to_string(row.Integer(column));
      return;
    }
    case SQLITE_FLOAT:
      json += std::isfinite(row.Real(column)) ? ShortestNumber(row.Real(column)) : "null";
      return;
    case SQLITE_TEXT: {
      const std::optional<std::string> without = TextWithoutEnvironment(row.Text(column));
      const std::string_view text = without ? std::string_view(*without) : row.Text(column);
      return AppendJsonString(json, text.substr(0, kLongestValue));
    }
    default:
      json += "null";
  }
}

std::string TableJson(NsysSource& source, const NsysTable& table, const std::vector<std::string_view>& columns) {
  std::string json;
  NsysQuery rows = source.database.Scan(table);
  while (json.size() < kMostFactBytes && rows.Next()) {
    std::string object;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const NsysColumn& column = table.columns[i];
      const bool wanted = columns.empty() ? !HasEnvironmentWord(column.name) && !IsPersonalName(column.name)
                                          : std::find(columns.begin(), columns.end(), column.name) != columns.end();
      if (!wanted || rows.IsNull(static_cast<int>(i))) continue;
      object += object.empty() ? '{' : ',';
      AppendJsonString(object, column.name);
      object += ':';
      AppendValue(object, source, rows, static_cast<int>(i), column);
    }
    json += (json.empty() ? '[' : ',') + (object.empty() ? "{" : object) + '}';
  }
  return json.empty() ? "[]" : json + ']';
}

// Calls `take` with each row's name and value.
void ForPairs(NsysSource& source, std::string_view name,
              const std::function<void(std::string_view name, std::string_view value)>& take) {
  const NsysTable* table = source.database.Find(name);
  if (table == nullptr || !table->Has("name") || !table->Has("value")) return;
  NsysQuery rows = source.database.Query("SELECT \"name\", \"value\" FROM " + QuotedName(name) + " NOT INDEXED");
  for (int64_t i = 0; i < kMostPairs && rows.Next(); ++i) take(rows.Text(0), rows.Text(1).substr(0, kLongestValue));
}

// What was set for the first process stands behind PROCESS_0:.
std::string_view WithoutProcess(std::string_view name) {
  if (!name.starts_with("PROCESS_")) return name;
  const size_t colon = name.find(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

// Names repeat: a list of pairs, not an object.
std::string PairsJson(NsysSource& source, const PairsFact& fact) {
  std::string json;
  ForPairs(source, fact.table, [&](std::string_view name, std::string_view value) {
    const std::string_view setting = WithoutProcess(name);
    const bool is_kept = std::find(fact.names.begin(), fact.names.end(), setting) != fact.names.end();
    if (json.size() > kMostFactBytes || !is_kept) return;
    json += json.empty() ? "[[" : ",[";
    AppendJsonString(json, name);
    json += ',';
    AppendJsonString(json, value);
    json += ']';
  });
  return json.empty() ? json : json + ']';
}

std::string EnvironmentJson(NsysSource& source) {
  std::string json;
  ForPairs(source, "META_DATA_CAPTURE", [&](std::string_view name, std::string_view value) {
    const size_t equals = value.find('=');
    if (!WithoutProcess(name).starts_with("ENVIRONMENT_VARIABLE") || equals == value.npos) return;
    if (json.size() > kMostFactBytes || !IsKeptEnvironment(value.substr(0, equals), value.substr(equals + 1))) return;
    json += json.empty() ? "[" : ",";
    AppendJsonString(json, value);
  });
  return json.empty() ? json : json + ']';
}

bool IsWhole(const NsysQuery& row, int column) {
  const int type = row.Type(column);
  if (type == SQLITE_FLOAT)
    return std::abs(row.Real(column)) < 9e18 && std::trunc(row.Real(column)) == row.Real(column);
  if (type != SQLITE_TEXT) return type == SQLITE_INTEGER;
  return std::to_string(row.Integer(column)) == row.Text(column);
}

// Times count from the start of the capture, as they do in the source, whether or not it says when that was.
Status SetBase(NsysSource& source) {
  RETURN_IF_ERROR(source.batch.sink().SetFact("time_zero_ns", 0));
  const NsysTable* table = source.database.Find("TARGET_INFO_SESSION_START_TIME");
  if (table != nullptr && table->Has("utcEpochNs")) {
    NsysQuery rows = source.database.Query("SELECT \"utcEpochNs\" FROM \"TARGET_INFO_SESSION_START_TIME\" NOT INDEXED");
    if (rows.Next() && IsWhole(rows, 0)) {
      RETURN_IF_ERROR(source.batch.sink().SetFact("base_unix_ns", rows.Integer(0)));
      return source.batch.sink().SetFact("clock", "unix");
    }
  }
  return source.batch.sink().SetFact("clock", "unknown");
}

}  // namespace

bool IsNsysSideTable(std::string_view name) {
  if (name.starts_with(kEnumPrefix) || name.ends_with(kCallchainEnding)) return true;
  if (std::find(std::begin(kSideTables), std::end(kSideTables), name) != std::end(kSideTables)) return true;
  return std::any_of(std::begin(kTables), std::end(kTables), [&](const TableFact& fact) { return fact.table == name; });
}

Status SetNsysFacts(NsysSource& source) {
  RETURN_IF_ERROR(SetBase(source));
  BatchSink& sink = source.batch.sink();
  for (const TableFact& fact : kTables) {
    const NsysTable* table = source.database.Find(fact.table);
    if (table == nullptr) continue;
    RETURN_IF_ERROR(sink.SetFact(fact.fact, TableJson(source, *table, fact.columns)));
  }
  for (const PairsFact& fact : kPairs) {
    const std::string json = PairsJson(source, fact);
    if (!json.empty()) RETURN_IF_ERROR(sink.SetFact(fact.fact, json));
  }
  const std::string environment = EnvironmentJson(source);
  if (!environment.empty()) RETURN_IF_ERROR(sink.SetFact("source.environment", environment));
  return OkStatus();
}

}  // namespace kprof
