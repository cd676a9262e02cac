#include "daemon/daemon_metrics.h"

#include "daemon/base/process_metrics.h"

namespace kprof {
namespace {

std::vector<std::string> IdsOf(const DeviceList& devices) {
  std::vector<std::string> ids;
  for (const Device& device : devices.all()) ids.push_back(device.id);
  return ids;
}

}  // namespace

DaemonMetrics::DaemonMetrics(const Clock& clock, const DeviceList& devices, size_t queue_limit,
                             const std::string& version)
    : runs(all, clock, IdsOf(devices), queue_limit) {
  AddProcessMetrics(all, version);
}

}  // namespace kprof
