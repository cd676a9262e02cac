// What /proc says of this process, under the names that every Prometheus client uses (process_*), and what the log had
// to drop.
#pragma once

#include "daemon/base/metrics.h"

namespace kprof {

// Adds the families; they are looked up for each text. `version`: "0.1.0", for kprof_build_info.
void AddProcessMetrics(Metrics& metrics, const std::string& version);

}  // namespace kprof
