#include "daemon/ingest/nsys/nsys_column_targets.h"

#include <cctype>

namespace kprof {
namespace {

struct KnownTarget {
  std::string_view table;  // empty: any
  std::string_view column;
  std::string_view target;
};

constexpr KnownTarget kKnown[] = {
    {"", "demangledName", "StringIds"},
    {"", "shortName", "StringIds"},
    {"", "mangledName", "StringIds"},
    {"", "nameId", "StringIds"},
    {"", "textId", "StringIds"},
    {"", "jsonTextId", "StringIds"},  // no comment says so
    {"", "apiCallId", "StringIds"},
    {"", "symbol", "StringIds"},
    {"", "module", "StringIds"},
    {"", "launchType", "ENUM_CUDA_KERNEL_LAUNCH_TYPE"},
    {"", "cacheConfig", "ENUM_CUDA_FUNC_CACHE_CONFIG"},
    {"", "sharedMemoryLimitConfig", "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG"},
    {"", "copyKind", "ENUM_CUDA_MEMCPY_OPER"},
    {"", "srcKind", "ENUM_CUDA_MEM_KIND"},
    {"", "dstKind", "ENUM_CUDA_MEM_KIND"},
    {"", "memKind", "ENUM_CUDA_MEM_KIND"},
    {"", "migrationCause", "ENUM_CUDA_UNIF_MEM_MIGRATION"},
    {"", "syncType", "ENUM_CUPTI_SYNC_TYPE"},
    {"", "deprecatedSyncType", "ENUM_CUPTI_SYNC_TYPE"},
    {"", "overheadType", "ENUM_CUPTI_OVERHEAD_TYPE"},
    {"", "eventClass", "ENUM_NSYS_EVENT_CLASS"},
    {"", "threadState", "ENUM_SAMPLING_THREAD_STATE"},
    {"", "threadBlock", "ENUM_SCHEDULING_THREAD_BLOCK"},
    {"", "unwindMethod", "ENUM_STACK_UNWIND_METHOD"},
    {"NVTX_EVENTS", "eventType", "ENUM_NSYS_EVENT_TYPE"},
    {"OSRT_FILE_ACCESS_EVENTS", "eventType", "ENUM_OSRT_FILE_ACCESS_EVENT_TYPE"},
    {"DIAGNOSTIC_EVENT", "timestampType", "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE"},
    {"DIAGNOSTIC_EVENT", "source", "ENUM_DIAGNOSTIC_SOURCE_TYPE"},
    {"DIAGNOSTIC_EVENT", "severity", "ENUM_DIAGNOSTIC_SEVERITY_LEVEL"},
    {"TARGET_INFO_CUDA_STREAM", "flag", "ENUM_CUPTI_STREAM_TYPE"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "callchainId", "CUDA_CALLCHAINS"},
    {"OSRT_API", "callchainId", "OSRT_CALLCHAINS"},
};

bool IsNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view TakeName(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && IsNameByte(text[size])) ++size;
  return text.substr(0, size);
}

bool IsTarget(std::string_view name) {
  return name == kStringTable || name.starts_with(kEnumPrefix) || name.ends_with(kCallchainEnding);
}

}  // namespace

ColumnTargets::ColumnTargets(std::string_view table, std::string_view sql) : table_(table) {
  constexpr std::string_view kReferences = "REFERENCES ";
  // One column a line, as the tool writes them.
  while (!sql.empty()) {
    const size_t line_size = sql.find('\n');
    std::string_view line = sql.substr(0, line_size);
    sql.remove_prefix(line_size == sql.npos ? sql.size() : line_size + 1);
    const size_t begin = line.find_first_not_of(" \t\"`[");
    const size_t comment = line.find("--");
    const size_t reference = comment == line.npos ? line.npos : line.find(kReferences, comment);
    if (reference == line.npos || begin >= comment) continue;
    const std::string_view target = TakeName(line.substr(reference + kReferences.size()));
    if (IsTarget(target)) of_comments_.emplace(TakeName(line.substr(begin)), target);
  }
}

std::string ColumnTargets::Of(std::string_view column) const {
  const auto found = of_comments_.find(column);
  if (found != of_comments_.end()) return found->second;
  for (const KnownTarget& known : kKnown) {
    if (known.column == column && (known.table.empty() || known.table == table_)) return std::string(known.target);
  }
  return {};
}

}  // namespace kprof
