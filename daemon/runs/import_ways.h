// What imports need of the rest of the house; everything is borrowed and outlives the runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "daemon/base/worker_pool.h"
#include "daemon/ingest/trace_import.h"
#include "daemon/runs/imports/held_sources.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

struct ImportContext {
  // ImportTrace, or a test's.
  using Import = std::function<Result<ImportedPart>(
      const ImportSource& source, const ImportLimits& limits, Files& files, const std::string& part_path,
      const std::stop_token& stop, const std::function<void(const ImportProgress&)>& progress)>;
  Import import;
  // part_rank.h, or a test's.
  using SetRank =
      std::function<Result<int64_t>(Files& files, const std::string& part_path, std::optional<int64_t> rank)>;
  SetRank set_rank;
  ImportLimits limits;
  HeldSources& sources;
  WorkerPool& pool;     // the imports under way, each for as long as it takes
  WorkerPool& hashing;  // sources whose size an earlier import's had
};

}  // namespace kprof
