// The measured ceilings of the node's devices, as the catalog has them (device_records.h), at hand for whoever shows
// peaks. What one may be is daemon/devices/peaks/device_peaks.h.
//
// Io loop only. Never blocks. `loop` and `catalog` must outlive it, and it what is under way in their queues.
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
  // `known`: what the catalog has.
  CeilingBook(IoLoop& loop, Catalog& catalog, std::vector<CeilingRow> known)
      : loop_(loop), catalog_(catalog), rows_(std::move(known)) {}
  CeilingBook(const CeilingBook&) = delete;
  CeilingBook& operator=(const CeilingBook&) = delete;

  // By what a device is found again after a restart, when its number may be another's. Empty: it has not said who it
  // is, and has no ceilings.
  static std::string KeyOf(const Device& device, const DeviceFacts& facts);
  static MeasuredCeiling CeilingOf(const CeilingRow& row);

  std::vector<MeasuredCeiling> Of(const std::string& key) const;

  // `done` is called from the loop, later: when it is on the disk, with its entry in the audit, and Of has it; or with
  // why it is not.
  void Record(CeilingRow ceiling, AuditEntry entry, std::function<void(const Status&)> done);
  // The same, of all of that device.
  void Forget(const std::string& key, AuditEntry entry, std::function<void(const Status&)> done);

 private:
  void Change(std::function<Status(Db&)> job, AuditEntry entry, std::function<void()> then,
              std::function<void(const Status&)> done);

  IoLoop& loop_;
  Catalog& catalog_;
  std::vector<CeilingRow> rows_;
};

}  // namespace kprof
