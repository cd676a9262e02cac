// Where the parts of a run's trace are.
#pragma once

#include <string>
#include <vector>

#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/layout.h"
#include "storage/trace_sql/trace_place.h"

namespace kprof {

// By their names. On a worker. Fails with kUsage where the run has no trace; `act` begins the message.
Result<std::vector<TracePlace>> FindTrace(Files& files, const Layout& layout, const RunRow& run,
                                          const std::string& act);

}  // namespace kprof
