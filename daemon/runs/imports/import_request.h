// A client's request to submit an import, as typed values. CheckImportRequest is where bytes from outside end: behind
// it everything is within its limits. The bytes of the sources themselves are checked elsewhere
// (ingest/trace_import.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

inline constexpr char kImportTool[] = "import";  // RunRow::tool of an import

// How the sources of an import become runs.
enum class ImportGrouping : uint8_t {
  kByJob,     // the sources of one job are one run: import_groups.h
  kOneRun,    // all of them are
  kSeparate,  // each is one
};

struct ImportRequest {
  struct Source {
    std::string ticket;  // held_sources.h
    std::string name;    // as its owner calls it
    std::optional<int64_t> rank;
    bool may_be_none = false;  // if it is no trace, it is left out
  };
  uint32_t uid = 0;
  std::string caller = "local";  // as in RunRequest, these three
  std::string certificate_id;
  std::vector<uint32_t> groups;
  std::vector<Source> sources;
  std::string format;  // "auto": as its bytes say
  ImportGrouping grouping = ImportGrouping::kByJob;
  std::map<std::string, std::string> labels;
  bool keep_sources = false;
  bool again = false;  // also where the same was imported before
  bool shared = false;
  bool attached = false;
  std::string idempotency_key;
};

struct ImportRequestLimits {
  size_t sources = 1024;  // HeldSources::kMostOfOne
  size_t name_bytes = 1024;
  size_t idempotency_key_bytes = 64;
  int64_t rank = 1 << 24;
};

// kUsage; names the field and the limit.
Status CheckImportRequest(const ImportRequest& request, const ImportRequestLimits& limits = {});

// The name of a file without the folders before it.
std::string LastStep(const std::string& path);

// The request as the row of one of its runs shows it: "import", its options, and the run's sources.
std::vector<std::string> CommandOf(const ImportRequest& request, const std::vector<ImportRequest::Source>& sources);

}  // namespace kprof
