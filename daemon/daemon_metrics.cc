#include "daemon/daemon_metrics.h"

#include "daemon/base/metrics.h"

namespace kprof {

DaemonMetrics::DaemonMetrics(const Clock& clock, size_t queue_limit, const std::string& version)
    : runs(all, clock, queue_limit) {
  AddProcessMetrics(all, version);
}

}  // namespace kprof
