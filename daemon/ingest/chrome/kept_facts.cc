#include "daemon/ingest/chrome/kept_facts.h"

#include <algorithm>
#include <iterator>

#include "daemon/ingest/text/environment_text.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "daemon/ingest/text/personal_names.h"

namespace kprof {
namespace {

// Sorted.
constexpr std::string_view kKept[] = {
    "ERROR",
    "INFO",
    "WARNING",
    "analysis",
    "backend",
    "baseTimeNanoseconds",
    "capture",
    "clock-domain",
    "cuda_contexts",
    "cuda_devices",
    "cuda_driver_version",
    "cuda_runtime_version",
    "cuda_streams",
    "cupti_version",
    "deviceProperties",
    "displayTimeUnit",
    "distributedInfo",
    "export",
    "gpu",
    "gpu_metrics",
    "hip_driver_version",
    "hip_runtime_version",
    "nccl_version",
    "nics",
    "nvtx_payload_schema_entries",
    "nvtx_payload_schemas",
    "product-version",
    "pytorch_version",
    "rccl_version",
    "rocm_version",
    "roctracer_version",
    "schemaVersion",
    "session_start",
    "stackFrames",
    "system",
    "torch_version",
    "trace-capture-datetime",
    "trace_id",
    "version",
};
static_assert(std::is_sorted(std::begin(kKept), std::end(kKept)));
constexpr int kMostFactDepth = 8;

std::optional<std::string> KeptAt(std::string_view key, std::string_view value, int depth);

std::optional<std::string> KeptMembers(std::string_view object, int depth) {
  if (depth == kMostFactDepth) return std::nullopt;
  const std::string padded = std::string(object) + std::string(kScanSlackBytes, '\0');
  std::string kept;
  ForEachMember(padded.data(), padded.data() + object.size(), [&](std::string_view key, std::string_view value) {
    const std::optional<std::string> of = KeptAt(UnescapeJson(key), value, depth + 1);
    if (!of) return true;
    kept += kept.empty() ? "{\"" : ",\"";
    kept += key;
    kept += "\":";
    kept += *of;
    return true;
  });
  if (kept.empty()) return std::nullopt;
  return kept + '}';
}

// The variables that are kept, of a list or an object of them, and numbers.
std::optional<std::string> KeptEnvironment(std::string_view key, std::string_view value) {
  if (value.front() == '"') return std::nullopt;
  return KeptOfEnvironment(key, CompactJson(value));
}

std::optional<std::string> KeptAt(std::string_view key, std::string_view value, int depth) {
  if (value.empty()) return std::nullopt;
  if (HasEnvironmentWord(key)) return KeptEnvironment(key, value);
  if (std::binary_search(std::begin(kKept), std::end(kKept), key)) return WithoutEnvironment(CompactJson(value));
  if (value.front() == '"' || value.front() == '[' || IsPersonalName(key)) return std::nullopt;
  if (value.front() == '{') return KeptMembers(value, depth);
  return CompactJson(value);
}

}  // namespace

std::optional<std::string> KeptFact(std::string_view key, std::string_view value) {
  return KeptAt(key, value, 0);
}

}  // namespace kprof
