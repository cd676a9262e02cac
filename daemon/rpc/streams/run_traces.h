// Where the parts of a run's trace are.
#pragma once

#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"
#include "storage/trace_sql/parts/trace_place.h"

namespace kprof {

// As the catalog has them. Fails with kUsage where the run has no trace; `act` begins the message.
Result<std::vector<TracePlace>> FindTrace(const Layout& layout, const RunRow& run, const std::string& act);

}  // namespace kprof
