// Keeps the measured ceilings of the node's devices at hand, as the catalog has them (device_records.h), for those who
// show peaks. daemon/devices/peaks/device_peaks.h says what may be a ceiling.
//
// Io loop only. Never blocks. `loop` and `catalog` must outlive it; it must outlive its jobs in their queues.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/devices/device_book.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/peaks/device_peaks.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/device_records.h"

namespace kprof {

class CeilingBook {
 public:
  // `known`: the ceilings in the catalog.
  CeilingBook(IoLoop& loop, Catalog& catalog, std::vector<CeilingRow> known)
      : loop_(loop), catalog_(catalog), rows_(std::move(known)) {}
  CeilingBook(const CeilingBook&) = delete;
  CeilingBook& operator=(const CeilingBook&) = delete;

  // The key of a device, to find it again after a restart, when its number may be another's. Empty: the device has not
  // said who it is, and has no ceilings.
  static std::string KeyOf(const Device& device, const DeviceFacts& facts);

  std::vector<MeasuredCeiling> Of(const std::string& key) const;

  // `done` is called from the loop, later: when the ceiling is on the disk, with its entry in the audit, and Of returns
  // it; or with the reason why not.
  void Record(CeilingRow ceiling, AuditEntry entry, std::function<void(const Status&)> done);
  // The same, for all ceilings of that device.
  void Forget(const std::string& key, AuditEntry entry, std::function<void(const Status&)> done);

 private:
  void Change(std::function<Status(Db&)> job, AuditEntry entry, std::function<void()> then,
              std::function<void(const Status&)> done);

  IoLoop& loop_;
  Catalog& catalog_;
  std::vector<CeilingRow> rows_;
};

}  // namespace kprof
