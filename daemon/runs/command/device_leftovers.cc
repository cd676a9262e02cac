#include "daemon/runs/command/device_leftovers.h"

#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr char kDeviceShared[] = "device_shared";

}  // namespace

DeviceLeftovers::DeviceLeftovers(std::string boot_id, std::vector<LeftoverRow> stored) : boot_id_(std::move(boot_id)) {
  for (LeftoverRow& row : stored) {
    if (row.boot_id == boot_id_) left_by_[row.device] = std::move(row.run_id);
  }
}

void DeviceLeftovers::Note(const RunRow& ended) {
  for (const std::string& device : ended.devices) left_by_[device] = ended.id;
}

std::vector<LeftoverRow> DeviceLeftovers::LeftBy(const RunRow& ended) const {
  std::vector<LeftoverRow> rows;
  for (const std::string& device : ended.devices) {
    auto left = left_by_.find(device);
    if (left != left_by_.end() && left->second == ended.id) rows.push_back({device, ended.id, boot_id_});
  }
  return rows;
}

std::vector<LeftoverRow> DeviceLeftovers::Tell(RunRow& row) const {
  std::vector<LeftoverRow> told;
  for (const std::string& device : row.devices) {
    auto left = left_by_.find(device);
    if (left == left_by_.end()) continue;
    // Of which run is not for everybody to know; the log says it.
    LogWarning("processes of an earlier run may use a device", {{"earlier", left->second}, {"run", row.id}});
    row.trust.push_back({kDeviceShared, "processes of the run before it could not be ended, and may have used device " +
                                            device + " at the same time"});
    told.push_back({device, left->second, boot_id_});
  }
  return told;
}

void DeviceLeftovers::Told(const std::vector<LeftoverRow>& told) {
  for (const LeftoverRow& leftover : told) {
    auto left = left_by_.find(leftover.device);
    if (left != left_by_.end() && left->second == leftover.run_id) left_by_.erase(left);
  }
}

void DeviceLeftovers::TakeBack(RunRow& row) {
  std::erase_if(row.trust, [](const TrustReason& reason) { return reason.code == kDeviceShared; });
}

}  // namespace kprof
