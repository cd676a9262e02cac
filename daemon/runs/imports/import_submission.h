// Makes a submitted import durable: claims its sources, looks whether the same was imported before, stores its row.
// Queueing it is runs.h.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "daemon/runs/imports/import_request.h"
#include "daemon/runs/imports/import_work.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

struct SubmittedImport {
  RunRow row;
  std::shared_ptr<const ImportPlan> plan;  // none: nothing is to be done, the run is there already
  bool existing = false;                   // the same sources were imported before, and this is that run
};

// Io loop only; `done` is called from it. `stop`: its client is gone; what is not stored by then is kCancelled. Nothing
// of an import that fails is left. Fails with kNotFound for a ticket that holds nothing.
// REQUIRES: CheckImportRequest passed; parts.imports.
void StoreSubmittedImport(const RunContext& parts, ImportRequest request, std::string id, std::stop_token stop,
                          std::function<void(Result<SubmittedImport>)> done);

}  // namespace kprof
