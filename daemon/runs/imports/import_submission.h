// Takes an import in: claims its sources, sorts them into runs (import_groups.h), looks whether the same were imported
// before, and makes the others durable. Queueing them is runs.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/runs/imports/import_request.h"
#include "daemon/runs/imports/import_work.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// A run of an import, stored.
struct SubmittedImport {
  RunRow row;
  std::shared_ptr<const ImportPlan> plan;  // none: nothing is to be done, the run is there already
  bool existing = false;                   // the same sources were imported before, and this is that run
};

// The id of one more run, which has its place in the queue; or why there is none.
using OneMoreRun = std::function<Result<std::string>()>;

// Stores an import as one run, or as several, all or none of them; answers in the order of their first sources.
//
// Io loop only; `one_more` and `done` are called from it. `id` is that of the first run. `stop`: the client is gone; an
// import that is not stored by then is kCancelled. An import that fails leaves nothing. Fails with kNotFound for a
// ticket that holds nothing. Looks of one account at its sources take a minute at most; the sources that it does not
// come to say nothing. REQUIRES: CheckImportRequest passed; the context has imports.
void StoreSubmittedImport(const RunContext& context, ImportRequest request, uint32_t account, std::string id,
                          OneMoreRun one_more, std::stop_token stop,
                          std::function<void(Result<std::vector<SubmittedImport>>)> done);

}  // namespace kprof
